"""Who was not let in can do nothing. Who was let in has the functions, and no other way to the tables."""

import pytest

from calls import SETUP
from catalog import call, functions, let_in, relations, state_of
from own_server import ask

DENIED = "42501"
NOT_WRITABLE = "55000"  # a view over several tables


@pytest.fixture
def server(servers):
    server = servers("attack")
    with server.connect() as admin:
        admin.execute(SETUP)
        admin.execute("DROP ROLE IF EXISTS stranger")
        admin.execute("CREATE ROLE stranger LOGIN")
        let_in(admin, "guest")
    yield server
    server.assert_sound()
    server.never_crashed()


def test_whoever_was_not_let_in_calls_nothing_and_reads_nothing(server):
    with server.connect(user="stranger") as stranger, server.connect() as admin:
        for function in functions(admin):
            assert state_of(stranger, f"SELECT {call(function)}") == DENIED, function.name
        for name, _ in relations(admin):
            assert state_of(stranger, f"TABLE {name}") == DENIED, name
        assert state_of(stranger, "CREATE TABLE claims.mine ()") == DENIED


def test_whoever_was_let_in_writes_no_table(server):
    with server.connect(user="guest") as guest, server.connect() as admin:
        for name, kind in relations(admin):
            assert state_of(guest, f"TABLE {name}") is None, name
            column = admin.execute("SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = 1", [name]).fetchone()[0]
            ways = [f"INSERT INTO {name} DEFAULT VALUES", f"UPDATE {name} SET {column} = {column}", f"DELETE FROM {name}"]
            if kind == "r":
                ways += [f"TRUNCATE {name}", f"DO 'BEGIN LOCK TABLE {name} IN ROW EXCLUSIVE MODE; END'", f"TABLE {name} FOR UPDATE",
                         f"ALTER TABLE {name} DISABLE TRIGGER ALL", f"CREATE INDEX ON {name} ({column})", f"DROP TABLE {name}",
                         f"CREATE RULE mine AS ON INSERT TO {name} DO INSTEAD NOTHING",
                         f"CREATE TRIGGER mine BEFORE INSERT ON {name} EXECUTE FUNCTION claims.guard_row()"]
            for way in ways:
                assert state_of(guest, way) in ((DENIED,) if kind == "r" else (DENIED, NOT_WRITABLE)), way
        for way in ("CREATE TABLE claims.mine ()", "ALTER EXTENSION pg_claims UPDATE", "DROP EXTENSION pg_claims",
                    "ALTER FUNCTION public.check_claims() RESET ALL", "SELECT claims.grant_access('stranger')",
                    "SELECT claims.revoke_access('stranger')", "SELECT claims.set_access('stranger', true)"):
            assert state_of(guest, way) == DENIED, way


def test_no_token_is_forged_and_nothing_of_anothers_is_freed(server):
    """Without the holder's name, or with a token that is not the claim's, nothing changes."""
    everything = """SELECT (SELECT string_agg(c::text, ';' ORDER BY slot_id, token) FROM claims.slot_claims AS c),
                           (SELECT string_agg(k::text, ';' ORDER BY key) FROM claims.keys AS k)"""
    tokens = (-9223372036854775808, -1, 0, 2, 9223372036854775807)
    with server.connect(user="guest") as guest, server.connect() as admin:
        before = admin.execute(everything).fetchone()
        tried = 0
        for function in functions(admin):
            names = {argument.name for argument in function.arguments}
            if "token" not in names:
                continue
            forged = [("'run'", str(token)) for token in tokens]
            if function.name != "cancel_slot":  # where the token decides, and the canceller is only recorded
                forged += [("'guest'", str(token)) for token in (1, *tokens)]
            if next(argument for argument in function.arguments if argument.name == "token").optional:
                forged.append(("'guest'", "NULL"))
            for holder, token in forged:
                for target in ({"key": "'finished'"},) if "key" in names else ({"slot_id": "'kept'"}, {"slot_id": "'in doubt'"}, {"slot_id": "'cancelled'"}):
                    if function.name == "resolve_slot" and target["slot_id"] == "'in doubt'" and token == "1":
                        continue  # likewise: whoever decides is recorded
                    statement = call(function, holder=holder, token=token, **target)
                    tried += 1
                    if state_of(guest, f"SELECT {statement}") is None:
                        answer = ask(guest, statement)
                        assert answer is False or not answer.get("ok"), f"{statement}: {answer}"
        for statement in ("""confirm_many('[{"slot_id": "kept", "token": 1}]', 'guest')""", """release_many('[{"slot_id": "kept", "token": 2}]', 'run')"""):
            assert not ask(guest, statement)["ok"], statement
        assert tried > 100
        assert admin.execute(everything).fetchone() == before
