"""Where things are, and free ports."""

import socket
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[3]
WORKFLOWS = HOUSE / "n8n"
INSTALL = HOUSE / "target/n8n/node_modules"
# Everything that a run of the tests writes.
STATE = HOUSE / "target/test/n8n"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def tail(path, lines=40):
    """The end of a log, for the message of a failure."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
