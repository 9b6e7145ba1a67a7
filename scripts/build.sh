#!/usr/bin/env bash
# Builds the extension for the chosen PostgreSQL: the files of an installation, in the places they
# would be installed to, below target/package/.
#
#   scripts/build.sh             the extension
#   scripts/build.sh mutant      the same, of whose protocol a part can be left out: the feature mutant
source "$(dirname "$0")/common.sh"
require_postgres

mutant=${1:-}
[[ -z $mutant || $mutant == mutant ]] || die "usage: scripts/build.sh [mutant]"
features=pg$PG_MAJOR${mutant:+,mutant}
package=$(package_dir "$mutant")
made_with="$PG_CONFIG $("$PG_CONFIG" --version) $features"

# One build at a time: a second one waits, and then finds it done.
mkdir -p "${package%/*}"
exec 9>"${package%/*}/lock"
flock 9

if fresh "$package.stamp" "$made_with"; then exit 0; fi

say "building $NAME with $features (the first time: a minute or two)"
# The stamp is as old as the build's start, so that what is saved meanwhile counts as newer.
echo "$made_with" >"$package.started"
rm -rf "$package.new"
cd "$HOUSE"
cargo pgrx package --no-default-features --features "$features" \
    --pg-config "$PG_CONFIG" --out-dir "$package.new" >"$package.log" 2>&1 || {
    sed 's/\x1b\[[0-9;]*m//g' "$package.log" >&2
    die "the build failed"
}
# pgrx notes where each part comes from; of what build.rs made that is a place on this machine.
sed -i -E 's|^-- /.*/out/last\.rs:|-- last.rs:|' "$package.new$SHAREDIR/extension/$NAME--$(cargo_toml version).sql"
# Swapped in whole: a server that starts meanwhile copies from here.
rm -rf "$package"
mv "$package.new" "$package"
mv "$package.started" "$package.stamp"
