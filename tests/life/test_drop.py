"""DROP EXTENSION takes everything with it that it made, and says what stands in its way."""

import psycopg
import pytest

from calls import CALLS, SETUP
from own_server import ask

# Every object of the database that is not PostgreSQL's own.
OBJECTS = """
    SELECT format('SELECT %L AS catalog, oid, tableoid FROM pg_catalog.%I WHERE oid >= 16384', relname, relname)
    FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND NOT relisshared
      AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'oid')"""
# What is said of objects elsewhere: comments, dependencies on roles, privileges at creation.
MENTIONS = """
    SELECT 'comment', objoid, classoid FROM pg_description WHERE objoid >= 16384
    UNION ALL SELECT 'role', objid, classid FROM pg_shdepend
              WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT 'privileges', objoid, classoid FROM pg_init_privs WHERE objoid >= 16384"""


def things(session):
    found = set(session.execute(MENTIONS).fetchall())
    for (query,) in session.execute(OBJECTS).fetchall():
        found |= set(session.execute(query).fetchall())
    return found


def test_nothing_is_left(servers):
    server = servers("drop", extension=False)
    with server.connect("postgres") as admin:
        admin.execute(f"CREATE DATABASE {server.database}")
        admin.execute("CREATE ROLE life_friend")
    with server.connect() as session:
        session.execute("CREATE EXTENSION btree_gist")
        session.execute("CREATE TABLE mine (id int PRIMARY KEY)")
        before = things(session)
        session.execute("CREATE EXTENSION pg_claims")
        session.execute("SELECT claims.grant_access('life_friend')")
        assert things(session) > before
        assert ask(session, "claim_slot('room', 'run')")["ok"]
        assert ask(session, "track_rows('mine')")["ok"]
        assert ask(session, "untrack_rows('mine')")["ok"]
        session.execute("ALTER TABLE mine DROP COLUMN version")
        session.execute("DROP EXTENSION pg_claims")
        assert things(session) == before
        # A session that has used it can go on with another one of it.
        session.execute("CREATE EXTENSION pg_claims")
        assert ask(session, "claim_slot('room', 'run')")["token"] == 1
        session.execute("DROP EXTENSION pg_claims")
        session.execute("DROP ROLE life_friend")


def test_a_session_that_has_called_everything_can_start_anew(servers):
    server = servers("drop_all")
    with server.connect() as session:
        outcomes = []
        for _ in range(2):
            session.execute(SETUP)
            outcomes.append({name: answer if isinstance(answer := ask(session, call), bool) else answer["outcome"]
                             for name, call in CALLS.items() if name != "read_row"})
            session.execute("DROP EXTENSION pg_claims CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            session.execute("CREATE EXTENSION pg_claims CASCADE")
        assert outcomes[0] == outcomes[1]


def test_tracked_tables_stand_in_its_way(servers):
    server = servers("drop_tracked")
    with server.connect() as session:
        notices = []
        session.add_notice_handler(lambda notice: notices.append((notice.message_primary, notice.message_detail)))
        session.execute("CREATE TABLE customers (id int PRIMARY KEY, plan text); INSERT INTO customers VALUES (1, 'free')")
        assert ask(session, "track_rows('customers')")["ok"]
        assert ask(session, "patch_row('customers', 1, 1, '{\"plan\": \"pro\"}', 'billing')")["ok"]

        with pytest.raises(psycopg.errors.DependentObjectsStillExist) as refused:
            session.execute("DROP EXTENSION pg_claims")
        assert refused.value.diag.message_detail.count("on table customers depends on function claims.") == 3
        assert ask(session, "check_claims()")["ok"]

        # CASCADE says what else it drops: the triggers, and never the table, its rows or its versions.
        session.execute("SET client_min_messages = notice")
        session.execute("DROP EXTENSION pg_claims CASCADE")
        assert any("drop cascades to 3 other objects" in message and detail.count("on table customers") == 3
                   for message, detail in notices), notices
        session.execute("UPDATE customers SET plan = 'team', version = 1")
        assert session.execute("SELECT id, plan, version FROM customers").fetchall() == [(1, "team", 1)]


def test_its_job_stays_until_it_is_unscheduled(servers):
    """pg_cron's jobs are rows, of which DROP EXTENSION knows nothing."""
    server = servers("drop_job", shared_preload_libraries="pg_cron", **{"cron.database_name": "claims_of_its_own"})
    jobs = "SELECT count(*) FROM cron.job"
    with server.connect() as session:
        session.execute("CREATE EXTENSION pg_cron")
        assert ask(session, "schedule_reaper()")["ok"]
        session.execute("DROP EXTENSION pg_claims")
        (command,) = session.execute("SELECT command FROM cron.job").fetchone()
        with pytest.raises(psycopg.errors.UndefinedFunction):
            session.execute(command)
        session.execute("CREATE EXTENSION pg_claims")
        assert ask(session, "unschedule_reaper()")["outcome"] == "unscheduled"
        assert session.execute(jobs).fetchone() == (0,)
