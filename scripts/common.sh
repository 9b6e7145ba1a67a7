# shellcheck shell=bash
# What every script needs: how to speak, where things are, and which PostgreSQL is meant.
# Sourced, never run.
# shellcheck disable=SC2034  # much of it is for those who source it

set -euo pipefail
# The server may run as another user than the one who builds, and has to read what was built.
umask 022

HOUSE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
TOOLS=$HOUSE/target/tools
export PGRX_HOME=$HOUSE/target/pgrx
export PATH=$TOOLS/bin:$PATH:${HOME:-}/.cargo/bin
# What a psql or libpq setting of the caller's means for his own servers is not meant for this one.
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD PGSERVICE PGOPTIONS PGSSLMODE PSQLRC

NAME=pg_claims
MAJORS=(18 17 16 15)

say() { printf '==> %s\n' "$*"; }

die() {
    printf 'pg_claims: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# The value of a `key = "value"` line of Cargo.toml: every version is said there, and only there.
cargo_toml() { sed -n "s/^$1 *= *\"=\{0,1\}\([^\"]*\)\".*/\1/p" "$HOUSE/Cargo.toml" | head -n 1; }

# Sets PG_CONFIG and PG_MAJOR: the caller's choice of either, or else the newest server that is here.
# Leaves PG_CONFIG empty where there is none.
choose_postgres() {
    if [[ -z ${PG_CONFIG:-} ]]; then
        PG_CONFIG=$(find_pg_config)
    fi
    if [[ -n $PG_CONFIG ]]; then
        have "$PG_CONFIG" || die "no such pg_config: $PG_CONFIG"
        PG_MAJOR=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
        [[ " ${MAJORS[*]} " == *" $PG_MAJOR "* ]] ||
            die "PostgreSQL $PG_MAJOR ($PG_CONFIG) is not supported; it must be one of ${MAJORS[*]}"
        BINDIR=$("$PG_CONFIG" --bindir)
        PKGLIBDIR=$("$PG_CONFIG" --pkglibdir)
        SHAREDIR=$("$PG_CONFIG" --sharedir)
    fi
}

find_pg_config() {
    local major
    for major in ${PG_MAJOR:-"${MAJORS[@]}"}; do
        if is_installed "$major"; then
            installed_pg_config "$major"
            return
        fi
    done
    if [[ -n ${PG_MAJOR:-} ]]; then
        if is_fetched "$PG_MAJOR"; then fetched_pg_config "$PG_MAJOR"; fi
    elif have pg_config && [[ -x $(pg_config --bindir)/postgres ]]; then
        command -v pg_config
    fi
}

# Debian's. Its /usr/bin/pg_config speaks of libpq, which may be of another major than the server.
installed_pg_config() { echo "/usr/lib/postgresql/$1/bin/pg_config"; }
is_installed() { [[ -x $(installed_pg_config "$1") && -x /usr/lib/postgresql/$1/bin/postgres ]]; }

# What scripts/majors.sh got.
fetched_pg_config() { echo "$HOUSE/target/majors/$1/pg_config"; }
is_fetched() { [[ -x $(fetched_pg_config "$1") ]]; }

# PostgreSQL refuses to run as root.
as_server() {
    if [[ $EUID -eq 0 ]]; then
        (cd / && runuser -u postgres -- "$@")
    else
        "$@"
    fi
}

# Makes a folder below target/ where the server's user can get to it. Where he cannot (in a clone in
# /root, say), it is a link to a folder under /var/tmp.
make_reachable() {
    local folder=$1
    if [[ -L $folder && ! -d $folder ]]; then rm -f "$folder"; fi
    if [[ -e $folder ]]; then return; fi
    if as_server test -x "${folder%/*}"; then
        mkdir "$folder"
    else
        ln -s "$(mktemp -d "/var/tmp/$NAME.XXXXXX")" "$folder"
        chmod 0755 "$folder/"
    fi
}

require_postgres() {
    choose_postgres
    [[ -n $PG_CONFIG ]] || die "no PostgreSQL server found" "make setup installs what is missing"
}

# Where scripts/build.sh puts what it built; the mutant has a place of its own.
package_dir() { echo "$HOUSE/target/package/pg$PG_MAJOR${1:+-$1}"; }

# Is the stamp younger than everything the extension is made of? Folders count too: a file that is
# deleted changes only its folder. A stamp holds what it was made with.
fresh() {
    local stamp=$1 made_with=$2
    [[ -f $stamp && $(<"$stamp") == "$made_with" ]] || return 1
    local parts=() part
    for part in src sql build.rs Cargo.toml Cargo.lock pg_claims.control .cargo; do
        [[ -e $HOUSE/$part ]] && parts+=("$HOUSE/$part")
    done
    [[ -z $(find "${parts[@]}" -newer "$stamp" -print -quit) ]]
}

# Puts a file in its place by rename: a server that has the old one mapped keeps the old one, and
# every new connection gets the new one. Written in place, it would crash those that run.
put_file() {
    local from=$1 to=$2
    if [[ -f $to && ! -L $to ]] && cmp -s "$from" "$to"; then return; fi
    cp "$from" "$to.new"
    chmod 0644 "$to.new"
    [[ $to != *.so ]] || chmod 0755 "$to.new"
    mv -f "$to.new" "$to"
}

# A tool that runs for a second is not worth minutes of optimising.
cargo_install() {
    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        cargo install --quiet --locked --root "$TOOLS" "$@"
}

# Makes target/tools/NAME a Python of its own with these packages; anew when the list has changed.
python_tools() {
    local venv=$TOOLS/$1 packages=${*:2}
    if [[ -f $venv.stamp && $(<"$venv.stamp") == "$packages" ]]; then return; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || "$HOUSE/scripts/setup.sh" python >&2
    say "installing $packages into target/tools"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir "${@:2}"
    echo "$packages" >"$venv.stamp"
}
