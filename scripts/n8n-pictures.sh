#!/usr/bin/env bash
# Makes n8n/pictures: of each workflow of n8n/ the canvas, as n8n's own editor shows it.
#
#   scripts/n8n-pictures.sh [WORKFLOW…]    of these, or of all
source "$(dirname "$0")/common.sh"

VENV=$TOOLS/n8n-pictures
REQUIREMENTS=$HOUSE/tests/n8n/requirements.txt
# playwright opens the editor in Debian's Chromium; pillow makes the pictures small.
MORE=(playwright==1.65.2 pillow==13.0.0)

main() {
    "$HOUSE/scripts/n8n.sh"
    "$HOUSE/scripts/setup.sh" pictures
    mapfile -t packages < <(grep -v '^#' "$REQUIREMENTS")
    python_tools n8n-pictures "${packages[@]}" "${MORE[@]}"
    "$HOUSE/scripts/server.sh" start
    # shellcheck source=/dev/null
    source "$HOUSE/target/pg/env"
    cd "$HOUSE/tests/n8n"
    PYTHONDONTWRITEBYTECODE=1 "$VENV/bin/python" -m harness.pictures "$@"
}

main "$@"
