"""Everything through pgbouncer in transaction mode, where each transaction may be in another session."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from bouncer import Bouncer
from calls import CALLS, SETUP, WRITING
from own_server import HOUSE, ask

REGRESS = HOUSE / "tests/regress"
# What a file has to say for itself if it needs more than a transaction.
NEEDS_ONE_SESSION = {
    "sets something for statements to come": r"^SET (?!LOCAL\b)",
    "prepares a statement by name": r"^PREPARE ",
    "keeps something in the temporary schema": r"^CREATE TEMP|\bpg_temp\.",
}
# A pooler stays connected to a database that has been used, and so it cannot be dropped.
DROPS_A_DATABASE = r"^DROP DATABASE"

# The first file makes what all the others use.
FIRST = "00_the_extension_is_created"


@pytest.fixture
def bouncers():
    made = []

    def make(*args, **settings):
        made.append(Bouncer(*args, **settings))
        return made[-1]

    yield make
    for bouncer in made:
        bouncer.stop()


def straight(database=None):
    return psycopg.connect(host=os.environ["PGHOST"], port=os.environ["PGPORT"], dbname=database or os.environ["PGDATABASE"],
                           user="postgres", autocommit=True, prepare_threshold=None)


def fresh_database(name):
    with straight() as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        # pg_regress asks for this at the start of a session, and pgbouncer does not pass it on.
        admin.execute(f"ALTER DATABASE {name} SET IntervalStyle = 'postgres_verbose'")


def regress_files():
    """Which files run in which mode."""
    transaction, session = [], []
    for file in sorted((REGRESS / "sql").glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        if re.search(DROPS_A_DATABASE, text, re.MULTILINE):
            continue
        needs = any(re.search(pattern, text, re.MULTILINE) for pattern in NEEDS_ONE_SESSION.values())
        (session if needs and file.stem != FIRST else transaction).append(file.stem)
    return transaction, [FIRST, *session]


def pg_regress(bouncer, kind, names):
    """Runs the files; what they print is compared with what they print without a pooler."""
    output = HOUSE / "target/test" / kind
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    pgxs = Path(subprocess.run(["pg_config", "--pgxs"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    done = subprocess.run(
        [pgxs.parent / "../test/regress/pg_regress", f"--inputdir={REGRESS}", f"--outputdir={output}", "--use-existing",
         f"--bindir={Path(shutil.which('psql')).parent}", "--host=127.0.0.1", f"--port={bouncer.port}", "--user=postgres",
         f"--dbname={bouncer.database}", *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    differences = output / "regression.diffs"
    print(f"\n{len(names)} files in {kind}")
    assert done.returncode == 0, done.stdout + (differences.read_text() if differences.exists() else "")
    assert f"All {len(names)} tests passed" in done.stdout, done.stdout


def nothing_is_left(bouncer):
    """In none of the pool's sessions is there a lock, or a setting that somebody has made."""
    with straight() as admin:
        locks = admin.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                              " (SELECT oid FROM pg_database WHERE datname = %s)", [bouncer.database]).fetchone()[0]
    assert locks == 0, f"{locks} advisory locks are left"
    # What pgbouncer itself carries from client to client.
    tracked = "'application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings'"
    settings = bouncer.in_each("SELECT coalesce(string_agg(name || ' = ' || setting, ', '), '') FROM pg_settings"
                               f" WHERE source = 'session' AND name NOT IN ({tracked})")
    assert set(settings.values()) == {""}, settings
    paths = bouncer.in_each("current_setting('search_path')")
    assert set(paths.values()) == {'"$user", public'}, paths


def test_the_regress_files_say_the_same_in_transaction_mode(bouncers):
    fresh_database("pg_claims_regress")
    bouncer = bouncers("pooler_regress", "pg_claims_regress", "transaction", 5)
    bouncer.open_all()
    names, _ = regress_files()
    assert len(names) > 80, "most files need no session"
    pg_regress(bouncer, "pooler", names)
    nothing_is_left(bouncer)


def test_those_that_need_a_session_say_the_same_in_session_mode(bouncers):
    """One connection for all of them, each beginning after the DISCARD ALL of the last."""
    fresh_database("pg_claims_regress")
    bouncer = bouncers("pooler_session", "pg_claims_regress", "session", 1, server_reset_query="DISCARD ALL")
    _, names = regress_files()
    pg_regress(bouncer, "pooler-session", names)
    nothing_is_left(bouncer)


def test_the_races_have_one_winner_each(bouncers):
    """Those of tests/race: fifty clients on ten connections."""
    bouncer = bouncers("pooler_races", "postgres", "transaction", 10)
    tests = [word for name in ("stampede", "keys", "once", "pools") for word in ("--test", name)]
    done = subprocess.run(
        ["cargo", "test", "--locked", "--no-fail-fast", *tests, "--", "of_twenty", "twenty_", "fifty_buyers"],
        cwd=HOUSE / "tests/race", env=os.environ | {"RACES_POOLER": f"127.0.0.1:{bouncer.port}", "RUST_BACKTRACE": "0"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"^test .* \.\.\. ok$", done.stdout, re.MULTILINE)) > 10, done.stdout


def test_no_call_leaves_a_lock_or_a_setting_to_the_next_client(bouncers):
    """Each function, when it answers, when it refuses, and when it is rolled back."""
    database = "pooler_claims"
    fresh_database(database)
    bouncer = bouncers("pooler_calls", database, "transaction", 3)
    bouncer.open_all()
    with bouncer.connect() as session:
        session.execute("CREATE EXTENSION pg_claims CASCADE")
        session.execute(SETUP)
        for name, call in CALLS.items():
            with pytest.raises(psycopg.errors.DivisionByZero), session.transaction():
                ask(session, call)
                session.execute("SELECT 1 / 0")
            if name in WRITING:
                with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), session.transaction():
                    session.execute("SET TRANSACTION READ ONLY")
                    ask(session, call)
            ask(session, call)
            nothing_is_left(bouncer)


def test_a_setting_of_one_transaction_is_not_the_next_ones(bouncers):
    """SET LOCAL is how a workflow behind a pooler changes a setting of ours; a plain SET would reach others."""
    database = "pooler_claims"
    fresh_database(database)
    bouncer = bouncers("pooler_settings", database, "transaction", 3)
    bouncer.open_all()
    with bouncer.connect() as session:
        session.execute("CREATE EXTENSION pg_claims CASCADE")
        bouncer.in_each("check_slot('any') ->> 'outcome'")
        with session.transaction():
            session.execute("SET LOCAL pg_claims.default_ttl = '7 s'")
            assert ask(session, "claim_slot('s', 'run')")["ttl_ms"] == 7_000
        nothing_is_left(bouncer)
        session.execute("SET pg_claims.default_ttl = '7 s'")
        with pytest.raises(AssertionError, match="pg_claims.default_ttl = 7000"):
            nothing_is_left(bouncer)


@pytest.mark.parametrize("reset", ["DISCARD ALL", "DEALLOCATE ALL", "DISCARD PLANS", "RESET ALL"])
def test_what_a_pooler_resets_leaves_the_extensions_own_statements(reset):
    fresh_database("pooler_claims")
    with straight("pooler_claims") as session:
        session.execute("CREATE EXTENSION pg_claims CASCADE")
        for n in range(3):
            for outcome in ("claimed", "already_yours"):
                assert ask(session, f"claim_slot('s{n}', 'run')")["outcome"] == outcome
                session.execute(reset)
            assert ask(session, f"confirm_slot('s{n}', 'run', 1)")["outcome"] == "confirmed"
            session.execute(reset)
            assert ask(session, f"begin_key('k{n}', 'run')")["outcome"] == "run"
            session.execute(reset)
        assert session.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0] == 0
