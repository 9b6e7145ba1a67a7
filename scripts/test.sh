#!/usr/bin/env bash
# Runs the tests against the scratch server, one folder of tests/ after the other, and stops after the
# first kind that fails. The last line is the sum: `N passed, N failed`.
#
#   scripts/test.sh [KIND [NAME…]]
#
# A folder of tests/ is run by what is in it: sql/ by pg_regress, specs/ by pg_isolation_regress,
# Cargo.toml by cargo test, by its own program `run`, or else by pytest. The latter two speak like cargo
# test: `test result: ok. N passed; N failed`. For cargo a NAME is a file of tests, or a part of a test's
# name.
source "$(dirname "$0")/common.sh"
require_postgres
# shellcheck source=/dev/null
source "$HOUSE/target/pg/env"

# What takes minutes or a set-up of its own has a target of its own: make test-KIND.
apart=(attack crash docker failover faults life n8n package pooler)

passed=0
failed=0

main() {
    local kind
    if [[ $# -gt 0 ]]; then
        [[ -d $HOUSE/tests/$1 ]] || die "no such kind of tests: $1"
        run_kind "$@"
    else
        # The quick ones first.
        for kind in regress isolation race $(other_kinds); do run_kind "$kind"; done
    fi
    sum
}

other_kinds() {
    local folder
    for folder in "$HOUSE"/tests/*/; do
        folder=$(basename "$folder")
        if [[ " regress isolation race ${apart[*]} " != *" $folder "* ]]; then echo "$folder"; fi
    done
}

run_kind() {
    local kind=$1 log=$HOUSE/target/test/$1.log status=0
    mkdir -p "${log%/*}"
    say "tests/$kind"
    tests_of "$@" 2>&1 | tee "$log" || status=$?
    passed=$((passed + $(count "$log" passed)))
    failed=$((failed + $(count "$log" failed)))
    if [[ $status != 0 ]]; then
        echo "$kind failed; what it printed is in ${log#"$HOUSE/"}"
        # A program that broke before it could count is one failure.
        if [[ $failed == 0 ]]; then failed=1; fi
        sum
        exit 1
    fi
}

tests_of() {
    local kind=$1 folder=$HOUSE/tests/$1
    if [[ -d $folder/sql || -d $folder/specs ]]; then
        "$HOUSE/scripts/regress.sh" "$@"
    elif [[ -f $folder/Cargo.toml ]]; then
        "$HOUSE/scripts/setup.sh" "$kind" && cd "$folder" && cargo_tests "${@:2}"
    elif [[ -x $folder/run ]]; then
        "$folder/run" "${@:2}"
    else
        "$HOUSE/scripts/pytest.sh" "$@"
    fi
}

cargo_tests() {
    local name files=() chosen=() parts=()
    for name in "$@"; do
        if [[ -f tests/$name.rs ]]; then
            files+=("tests/$name.rs")
            chosen+=(--test "$name")
        else
            parts+=("$name")
        fi
    done
    [[ ${#files[@]} -gt 0 ]] || files=(tests/*.rs)
    # Building the mutant takes longer than most files of tests, which do without.
    if grep -q mutant "${files[@]}"; then "$HOUSE/scripts/mutant.sh" || return 1; fi
    RUST_BACKTRACE=0 cargo test --locked --no-fail-fast "${chosen[@]}" -- "${parts[@]}" 2>&1 | without_chatter
}

without_chatter() {
    sed -uE '/^$/d; /^ +(Compiling|Downloaded|Downloading|Finished|Running|Doc-tests) /d; /^running [0-9]+ tests?$/d; /^test result: ok. 0 passed; 0 failed/d'
}

# Reads `test name ... ok` of pg_regress 15, `ok 1 - name` of later ones, `test result:` of cargo.
count() {
    local log=$1 what=$2
    if [[ $what == passed ]]; then
        local lines='^test .*\.\.\. +ok |^ok [0-9]+ '
    else
        local lines='^test .*\.\.\. +FAILED |^not ok [0-9]+ '
    fi
    local of_cargo
    of_cargo=$(sed -n "s/^test result:.* \([0-9]*\) $what.*/+\1/p" "$log" | tr -d '\n')
    echo $(($(grep -cE "$lines" "$log" || true) + 0$of_cargo))
}

sum() { echo "$passed passed, $failed failed"; }

main "$@"
