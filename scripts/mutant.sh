#!/usr/bin/env bash
# Builds the extension with a part of its protocol left out, and puts its library into the scratch
# server as $libdir/pg_claims_mutant_NAME, for tests that show what that part is worth.
#
#   scripts/mutant.sh NAME       no_lock for the feature mutant_no_lock
set -euo pipefail
scripts=$(dirname "$0")
name=${1:?usage: scripts/mutant.sh NAME}
"$scripts/build.sh" "${name#mutant_}"
"$scripts/server.sh" mutant "${name#mutant_}"
