"""Where things are, free ports, and what is left of a program that ran."""

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


def dying_with_me(*program):
    """The program, killed by the kernel when the tests die: one left over would go on with the next run's
    database."""
    return ["setpriv", "--pdeathsig", "KILL", *program]
