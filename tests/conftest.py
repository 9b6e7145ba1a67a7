"""What the tests that bring their own servers have in common: the servers go when the test is over, and
the last line is the one that scripts/test.sh counts."""

import pytest

from own_server import Server


@pytest.fixture
def servers():
    """Makes servers, as Server.make does, and throws them all away at the end."""
    made = []

    def make(name, **settings):
        made.append(Server.make(name, **settings))
        return made[-1]

    make.keep = lambda server: made.append(server) or server
    yield make
    for server in reversed(made):
        server.throw_away()


def pytest_terminal_summary(terminalreporter):
    counts = {what: len(terminalreporter.getreports(what)) for what in ("passed", "failed", "error")}
    failed = counts["failed"] + counts["error"]
    terminalreporter.write_line(f"test result: {'FAILED' if failed else 'ok'}. {counts['passed']} passed; {failed} failed")
