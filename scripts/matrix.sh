#!/usr/bin/env bash
# Runs the tests that meet PostgreSQL most closely on each of its majors, and stops at the first that
# fails: what the server says (regress), how sessions interleave (isolation), many sessions at once
# (stampede), random sequences of calls beside a model, pg_cron's runs of the reaper (scheduled), and
# where an update of the extension leads.
#
#   scripts/matrix.sh [MAJOR…]     15 16 17 18 without one
source "$(dirname "$0")/common.sh"

main() {
    [[ $# -gt 0 ]] || set -- 15 16 17 18
    local major passed=0 log
    "$HOUSE/scripts/majors.sh" "$@" >/dev/null
    mkdir -p "$HOUSE/target/test"
    export PG_CONFIG=
    for major in "$@"; do PG_MAJOR=$major "$HOUSE/scripts/setup.sh"; done
    # While one is tested, the next is built: the tests wait more than they work.
    (for major in "$@"; do PG_MAJOR=$major "$HOUSE/scripts/build.sh" >/dev/null 2>&1; done) &
    for major in "$@"; do
        log=$HOUSE/target/test/matrix-$major.log
        say "PostgreSQL $major"
        on_one "$major" 2>&1 | tee "$log" || die "PostgreSQL $major failed" "what it printed is in ${log#"$HOUSE/"}"
        passed=$((passed + $(sed -n 's/^\([0-9]*\) passed, 0 failed$/+\1/p' "$log" | tr -d '\n')))
    done
    say "PostgreSQL $*"
    echo "$passed passed, 0 failed"
}

# A process for each step, as a step may end in the middle.
on_one() {
    export PG_MAJOR=$1
    local race=(stampede random_sequences)
    choose_postgres
    if [[ -e $PKGLIBDIR/pg_cron.so ]]; then race+=(scheduled); else say "there is no pg_cron for PostgreSQL $1 here"; fi
    "$HOUSE/scripts/build.sh" && "$HOUSE/scripts/server.sh" start &&
        "$HOUSE/scripts/test.sh" regress && "$HOUSE/scripts/test.sh" isolation &&
        "$HOUSE/scripts/test.sh" race "${race[@]}" && "$HOUSE/scripts/test.sh" upgrade short &&
        "$HOUSE/scripts/server.sh" stop
}

main "$@"
