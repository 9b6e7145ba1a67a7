# shellcheck shell=bash
# What the tests written in bash have in common. Sourced after common.sh, never run.
# LOGS is the folder for what the checks print.

passed=0
failed=0

# Each check is a shell of its own, which ends where something fails.
check() {
    local name=$1 log=$LOGS/${1// /_}.log status=0
    (set -e; "${@:2}") >"$log" 2>&1 & wait $! || status=$?
    if [[ $status == 0 ]]; then
        passed=$((passed + 1))
        echo "  ok: $name"
    else
        failed=$((failed + 1))
        tail -n 40 "$log"
        echo "  FAILED: $name"
    fi
}

same() { diff - <(printf '%s\n' "$@"); }

# The line that scripts/test.sh counts.
result() {
    echo "test result: $([[ $failed == 0 ]] && echo ok || echo FAILED). $passed passed; $failed failed"
    [[ $failed == 0 ]]
}
