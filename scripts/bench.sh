#!/usr/bin/env bash
# Runs bench/bench.py on a server of its own, made from the scratch server's installation.
#
#   scripts/bench.sh PLAN [WORK…]     full, quick or check; all workloads without a name
#   scripts/bench.sh report           the tables and plots of bench/README.md once more
#
# ROUNDS=9 measures each subject so many times. The results of a full run go to bench/results, with
# the table and the plots of bench/README.md; those of another to target/bench.
source "$(dirname "$0")/common.sh"
require_postgres

PSYCOPG='psycopg[binary]==3.3.9'
MATPLOTLIB=matplotlib==3.11.2
python=$TOOLS/bench/bin/python

main() {
    local plan=${1:?usage: scripts/bench.sh full | quick | check | report [WORK…]} place
    shift
    # psycopg: the set-up and the counts. matplotlib: the plots; its numpy: percentiles of the logs.
    python_tools bench "$PSYCOPG" "$MATPLOTLIB"
    export PYTHONDONTWRITEBYTECODE=1
    if [[ $plan == report ]]; then
        "$python" "$HOUSE/bench/report.py"
        return
    fi
    place=$(readlink -f "$HOUSE/target/pg/$PG_MAJOR")
    local results=$HOUSE/target/bench/$plan
    [[ $plan != full ]] || results=$HOUSE/bench/results
    "$python" "$HOUSE/bench/bench.py" --plan "$plan" --root "${BENCH_ROOT:-$place/root}" \
        --place "$place/bench" --results "$results" ${ROUNDS:+--rounds "$ROUNDS"} "$@"
    [[ $plan != full ]] || "$python" "$HOUSE/bench/report.py"
}

main "$@"
