#!/usr/bin/env bash
# Sets up what is missing: PostgreSQL with its headers and pg_cron, what a build needs, cargo-pgrx.
# On Debian and Ubuntu it installs; on another system it names what to install.
#
#   scripts/setup.sh          for a scratch server
#   scripts/setup.sh build    only to build and install the extension into a PostgreSQL of yours
#   scripts/setup.sh lint     for the checks as well
#   scripts/setup.sh bench    for the bench as well
#   scripts/setup.sh n8n      for the tests in n8n as well
#   scripts/setup.sh pictures for the pictures of its workflows as well
#   scripts/setup.sh python   for the tests that are written in Python
#   scripts/setup.sh pooler   the same, and pgbouncer
#   scripts/setup.sh crash    for the tests whose server has the wrong time: libfaketime
#   scripts/setup.sh spin     for the model: spin
#   scripts/setup.sh package  for the tests of the packages: a Debian of its own, and rpm
source "$(dirname "$0")/common.sh"

purpose=${1:-server}
APT_LOG=$HOUSE/target/apt.log

main() {
    [[ $EUID -ne 0 || $purpose == build ]] || have runuser || die "runuser (util-linux) is needed: the server cannot run as root"
    choose_postgres
    install_packages
    choose_postgres
    check_rust
    install_cargo_pgrx
    init_pgrx
}

install_packages() {
    local missing
    missing=$(missing_packages)
    [[ -n $missing ]] || return 0
    if ! have apt-get; then
        name_packages "$missing"
    fi
    mkdir -p "${APT_LOG%/*}"
    say "asking apt what there is$(with_sudo)"
    run_as_root apt-get update -q >"$APT_LOG" 2>&1 || die "apt-get update failed" "its words are in $APT_LOG"
    local major=${PG_MAJOR:-}
    [[ -n $major ]] || major=$(distribution_major)
    # shellcheck disable=SC2086  # a list of words
    apt_install ${missing//MAJOR/$major}
    PG_MAJOR=$major
}

# The missing Debian packages; the major is left open where no server is here yet.
missing_packages() {
    local major=${PG_MAJOR:-MAJOR}
    if [[ -z $PG_CONFIG || ! -x $BINDIR/postgres ]]; then echo "postgresql-$major"; fi
    if [[ -z $PG_CONFIG || ! -f $("$PG_CONFIG" --includedir-server)/postgres.h ]]; then
        echo "postgresql-server-dev-$major"
    fi
    if [[ $purpose != build ]]; then
        # Debian's pg_cron fits Debian's server only; another one is used as it is.
        if [[ -z $PG_CONFIG || $PG_CONFIG -ef $(installed_pg_config "$major") && ! -f $PKGLIBDIR/pg_cron.so ]]; then
            echo "postgresql-$major-cron"
        fi
        have python3 || echo python3
    fi
    if [[ " lint python pooler bench n8n package " == *" $purpose "* ]]; then
        python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    fi
    if [[ $purpose == bench ]]; then
        # Its program is the server as well; the package redis-server would start one.
        have redis-benchmark || echo redis-tools
        have valgrind || echo valgrind
    fi
    if [[ $purpose == n8n ]]; then
        have npm || echo npm
        have make || echo make
        have g++ || echo g++
    fi
    if [[ $purpose == pictures ]]; then have chromium || echo chromium; fi
    if [[ $purpose == package ]]; then
        have mmdebstrap || echo mmdebstrap
        have rpm || echo rpm
    fi
    if [[ $purpose == crash ]]; then have_libfaketime || echo libfaketime; fi
    if [[ $purpose == spin ]]; then have spin || echo spin; fi
    # Debian puts it where only root looks.
    [[ $purpose != pooler || -x /usr/sbin/pgbouncer ]] || have pgbouncer || echo pgbouncer
    have_libclang || echo libclang-dev
    have gcc || have cc || echo gcc
    have pkg-config || echo pkg-config
}

have_libfaketime() {
    compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null ||
        compgen -G '/usr/lib64/faketime/libfaketime.so.1' >/dev/null
}

# bindgen, which reads PostgreSQL's headers for pgrx, opens libclang as a library.
have_libclang() {
    [[ -z ${LIBCLANG_PATH:-} ]] || return 0
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        compgen -G '/usr/lib/*/libclang*.so*' >/dev/null ||
        compgen -G '/usr/lib64/libclang*.so*' >/dev/null
}

distribution_major() {
    local major
    major=$(apt-cache depends postgresql | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
    [[ " ${MAJORS[*]} " == *" $major "* ]] ||
        die "this distribution has PostgreSQL ${major:-of no known version}, and 15 or later is needed" \
            "apt.postgresql.org has newer ones; then name yours: PG_MAJOR=17 make …"
    echo "$major"
}

name_packages() {
    die "some things are missing, and only apt is known here. Please install what your system calls:" \
        "$(tr '\n' ' ' <<<"${1//-MAJOR/}")" \
        "Or name a PostgreSQL that has them: PG_CONFIG=/path/to/pg_config make …"
}

# Debian starts a server on port 5432 with the package. Nobody asked for one here: the scratch server
# is another, so the package is told not to, for as long as it is being installed.
apt_install() {
    local conf=/etc/postgresql-common/createcluster.d/pg_claims-setup.conf
    say "apt-get install $*$(with_sudo) (some minutes; apt's own words go to target/apt.log)"
    run_as_root mkdir -p "${conf%/*}"
    echo 'create_main_cluster = false' | run_as_root tee "$conf" >/dev/null
    local failed=0
    run_as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" >>"$APT_LOG" 2>&1 || failed=1
    run_as_root rm -f "$conf"
    [[ $failed == 0 ]] || {
        tail -n 20 "$APT_LOG" >&2
        die "apt-get could not install $*"
    }
    # Likewise pgbouncer on port 6432, which cannot be told beforehand.
    if [[ " $* " == *" pgbouncer "* ]] && have systemctl; then
        run_as_root systemctl --quiet disable --now pgbouncer >>"$APT_LOG" 2>&1 || true
    fi
}

with_sudo() { [[ $EUID -eq 0 ]] || echo ", with sudo"; }

run_as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif have sudo && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
        sudo "$@"
    else
        die "this has to be run as root, and there is no sudo here:" "$*"
    fi
}

check_rust() {
    have cargo || die "Rust is missing" \
        "https://rustup.rs installs it for your user, without root; then run this again"
    local has wants
    has=$(rustc --version | cut -d ' ' -f 2)
    wants=$(cargo_toml rust-version)
    [[ $(printf '%s\n%s\n' "$wants" "$has" | sort -V | head -n 1) == "$wants" ]] ||
        die "Rust $has is too old, $wants is needed" "rustup update stable"
}

# cargo-pgrx and the pgrx crate go together: the same version, to the last digit.
install_cargo_pgrx() {
    local version
    version=$(cargo_toml pgrx)
    if [[ $(cargo pgrx --version 2>/dev/null) == "cargo-pgrx $version" ]]; then return; fi
    say "building cargo-pgrx $version into target/tools (once; some minutes)"
    cargo_install "cargo-pgrx@$version"
}

init_pgrx() {
    if grep -qsxF "pg$PG_MAJOR = \"$PG_CONFIG\"" "$PGRX_HOME/config.toml"; then return; fi
    say "telling pgrx of PostgreSQL $PG_MAJOR"
    mkdir -p "$PGRX_HOME"
    cargo pgrx init "--pg$PG_MAJOR=$PG_CONFIG" --no-run >"$PGRX_HOME/init.log" 2>&1 || {
        cat "$PGRX_HOME/init.log" >&2
        die "cargo pgrx init failed"
    }
}

main
