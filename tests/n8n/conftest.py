"""The fixtures of the stories. n8n, the world and the databases are there once for all of them, so each
story has slots and events of its own."""

import itertools
import os
import shutil

import psycopg
import pytest

from harness import database
from harness.model import Model
from harness.n8n import N8n
from harness.places import STATE
from harness.proxy import Proxy
from harness.world import World

numbers = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def databases():
    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir(parents=True)
    database.make_databases()
    yield
    database.drop_databases()


@pytest.fixture(scope="session")
def whole_world(databases):
    world = World()
    yield world
    world.stop()


@pytest.fixture(scope="session")
def whole_proxy(databases):
    proxy = Proxy("127.0.0.1", int(os.environ["PGPORT"]))
    yield proxy
    proxy.stop()


@pytest.fixture(scope="session")
def model():
    model = Model()
    yield model
    model.stop()


@pytest.fixture(scope="session")
def whole_n8n(databases, whole_world, whole_proxy, model):
    n8n = N8n(whole_proxy.port, whole_world.url, [model.credential])
    try:
        n8n.set_up()
        yield n8n
    finally:
        n8n.stop()


@pytest.fixture
def world(whole_world):
    yield whole_world
    whole_world.normal()


@pytest.fixture
def proxy(whole_proxy):
    yield whole_proxy
    whole_proxy.forget()


@pytest.fixture
def n8n(whole_n8n):
    """Running, whatever the story before did to it."""
    if whole_n8n.process.poll() is not None:
        whole_n8n.start()
    return whole_n8n


@pytest.fixture
def claims(databases):
    """The database of claims. Every story ends with it sound."""
    claims = database.Claims()
    yield claims
    claims.assert_sound()
    claims.close()


@pytest.fixture(scope="session")
def builder(databases):
    """Runs a statement as the role that owns the database, as a person does before the first run."""
    with psycopg.connect(dbname=database.CLAIMS, user=database.ROLE, autocommit=True) as connection:
        yield connection.execute


@pytest.fixture
def slot():
    """A slot that no other story knows."""
    return f"room-{next(numbers)} 2027-03-01T15:00Z"


@pytest.fixture
def event():
    """The id of an event that no other story knows."""
    return f"evt-{next(numbers)}"


def pytest_terminal_summary(terminalreporter):
    """The line that scripts/test.sh counts."""
    passed = len(terminalreporter.stats.get("passed", []))
    failed = len(terminalreporter.stats.get("failed", [])) + len(terminalreporter.stats.get("error", []))
    terminalreporter.write_line(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed")
