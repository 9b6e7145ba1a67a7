#!/usr/bin/env bash
# Builds the extension with the feature mutant, and puts its library into the scratch server as
# $libdir/pg_claims_mutant, for tests that show what the parts of its protocol are worth.
set -euo pipefail
scripts=$(dirname "$0")
"$scripts/build.sh" mutant
"$scripts/server.sh" mutant
