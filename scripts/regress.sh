#!/usr/bin/env bash
# Runs tests that compare what the server says with what it should say, in a database made anew:
# pg_regress for tests/regress/sql, pg_isolation_regress for tests/isolation/specs.
# What came out is in target/test/<kind>, and is printed where it differs.
#
#   scripts/regress.sh regress|isolation [NAME…]    all of them without a name, in the names' order
source "$(dirname "$0")/common.sh"
require_postgres
# shellcheck source=/dev/null
source "$HOUSE/target/pg/env"

kind=${1:?usage: scripts/regress.sh regress|isolation [NAME…]}
shift
input=$HOUSE/tests/$kind
output=$HOUSE/target/test/$kind
programs=$(dirname "$("$PG_CONFIG" --pgxs)")/../test

case $kind in
regress)
    command=("$programs/regress/pg_regress")
    files=("$input"/sql/*.sql)
    ;;
isolation)
    command=("$programs/isolation/pg_isolation_regress"
        --load-extension=btree_gist --load-extension="$NAME")
    files=("$input"/specs/*.spec)
    ;;
*) die "scripts/regress.sh runs regress and isolation, not $kind" ;;
esac

names=("$@")
if [[ ${#names[@]} == 0 ]]; then
    for file in "${files[@]}"; do
        file=${file##*/}
        names+=("${file%.*}")
    done
elif [[ $kind == regress ]]; then
    # The first file makes the extension and the helpers of all the others.
    names=(00_the_extension_is_created "${names[@]}")
fi

rm -rf "$output"
mkdir -p "$output"
"${command[@]}" --inputdir="$input" --outputdir="$output" --bindir="$(dirname "$(command -v psql)")" \
    --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --dbname="${NAME}_$kind" "${names[@]}" 2>&1 |
    sed -uE '/^(=+|The differences that|file \"|above is saved|SET$|(DROP|CREATE|ALTER) (DATABASE|EXTENSION)$|\(using postmaster|$)/d' && exit 0
[[ ! -s $output/regression.diffs ]] || cat "$output/regression.diffs"
exit 1
