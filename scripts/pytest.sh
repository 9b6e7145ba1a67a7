#!/usr/bin/env bash
# Runs the tests of a folder of tests/ that are written in Python, with servers of their own.
#
#   scripts/pytest.sh KIND [NAME…]     NAME: a file's or a test's name, or a part of one
source "$(dirname "$0")/common.sh"
require_postgres
# shellcheck source=/dev/null
source "$HOUSE/target/pg/env"

# pytest: fixtures, and an assertion that shows what it compared. psycopg: PostgreSQL from Python, with
# the libpq that comes along. psutil: the processes of a server, to kill and to stop them.
PACKAGES=('pytest==9.2.0' 'psycopg[binary]==3.3.9' 'psutil==7.2.2')

main() {
    local kind=${1:?usage: scripts/pytest.sh KIND [NAME…]}
    shift
    if [[ $kind == pooler ]]; then "$HOUSE/scripts/setup.sh" pooler; else "$HOUSE/scripts/setup.sh" python; fi
    python_tools pytest "${PACKAGES[@]}"
    local words="$*"
    # Nothing is written beside the sources; the last failure's servers stay below target/ to be looked at.
    PYTHONDONTWRITEBYTECODE=1 "$TOOLS/pytest/bin/pytest" -q -rs -s --tb=short -p no:cacheprovider --rootdir="$HOUSE/tests" \
        ${words:+-k "${words// / or }"} "$HOUSE/tests/$kind"
}

main "$@"
