"""The extension in a schema of its own, and in several databases of one server."""

from calls import CALLS, SETUP
from own_server import ask


def outcome(answer):
    return answer if isinstance(answer, bool) else answer["outcome"]


def answers(session, calls, prefix=""):
    return {name: outcome(ask(session, prefix + call)) for name, call in calls.items() if name != "read_row"}


def functions(session, schema):
    found = session.execute("""
        SELECT DISTINCT proname FROM pg_proc AS p
        JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
        WHERE extname = 'pg_claims' AND pronamespace = %s::regnamespace""", [schema])
    return {name for (name,) in found}


def test_every_call_works_in_another_schema(servers):
    server = servers("schema", extension=False)
    told = {}
    for place, schema, path in (("public", "public", "public"), ("on the path", "tools", "public, tools"), ("named", "tools", "public")):
        with server.connect("postgres") as admin:
            admin.execute(f"CREATE DATABASE {server.database}")
        with server.connect() as session:
            session.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}; CREATE EXTENSION pg_claims SCHEMA {schema} CASCADE")
            session.execute(f"SET search_path = public, {schema}; {SETUP} SET search_path = {path}")
            told[place] = answers(session, CALLS, "tools." if place == "named" else "")
            assert ask(session, f"{'tools.' if place == 'named' else ''}check_claims()")["ok"]
            # Those that need pg_cron are the only ones that are not called.
            assert functions(session, schema) == CALLS.keys() | {"schedule_reaper", "unschedule_reaper"}
        with server.connect("postgres") as admin:
            admin.execute(f"DROP DATABASE {server.database}")
    assert told["public"] == told["on the path"] == told["named"]
    assert len(set(told["public"].values())) > 10, told["public"]


def test_two_databases_of_one_server_know_nothing_of_each_other(servers):
    server = servers("two_databases")
    with server.connect("postgres") as admin:
        admin.execute("CREATE DATABASE another")
    with server.connect() as one, server.connect("another") as other, server.connect() as third:
        other.execute("CREATE EXTENSION pg_claims CASCADE")
        for session in (one, other):
            session.execute("SET pg_claims.lock_wait = 0")
            session.execute("BEGIN")
            # Each keeps the locks of its slot, key, series and reaper to the end of its transaction.
            assert ask(session, "claim_slot('room', 'run')")["outcome"] == "claimed"
            assert ask(session, "begin_key('event', 'run')")["outcome"] == "run"
            assert ask(session, "create_series('invoices')")["outcome"] == "created"
            assert ask(session, "next_number('invoices', 'run')")["number"] == 1
            assert ask(session, "reap_stale_claims()")["outcome"] == "reaped"
        # In one database they do keep others out, so the other database's would.
        third.execute("SET pg_claims.lock_wait = 0")
        assert ask(third, "claim_slot('room', 'another run')")["outcome"] == "busy"
        assert ask(third, "reap_stale_claims()")["outcome"] == "busy"
        one.execute("COMMIT")
        other.execute("ROLLBACK")
        assert ask(other, "check_slot('room')")["outcome"] == "absent"
        assert ask(other, "release_holder('run')")["released"] == 0
        assert ask(third, "check_slot('room')")["outcome"] == "claimed"
