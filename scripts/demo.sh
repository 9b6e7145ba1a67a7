#!/usr/bin/env bash
# Runs demo/demo.py against the scratch server.
source "$(dirname "$0")/common.sh"
# shellcheck source=/dev/null
source "$HOUSE/target/pg/env"
mkdir -p "$HOUSE/target/demo"
PYTHONDONTWRITEBYTECODE=1 python3 "$HOUSE/demo/demo.py" --logs "$HOUSE/target/demo"
