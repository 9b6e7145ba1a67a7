"""A call that is interrupted has done nothing, whatever it was at, and its session goes on."""

import random
import threading
import time

import psycopg
import pytest

from calls import CALLS, SETUP, WRITING
from own_server import ask, until

# A digest of everything that the extension keeps, and of the tracked rows.
STATE = """
    SELECT md5(concat(
        (SELECT string_agg(c::text, ';' ORDER BY slot_id, token) FROM claims.slot_claims AS c),
        (SELECT string_agg(p::text, ';' ORDER BY slot_id) FROM claims.pools AS p),
        (SELECT string_agg(k::text, ';' ORDER BY key) FROM claims.keys AS k),
        (SELECT string_agg(s::text, ';' ORDER BY s::text) FROM claims.series AS s),
        (SELECT string_agg(n::text, ';' ORDER BY n::text) FROM claims.numbers AS n),
        (SELECT string_agg(h::text, ';' ORDER BY h::text) FROM claims.row_history AS h),
        (SELECT string_agg(f::text, ';' ORDER BY f::text) FROM claims.row_fields AS f),
        (SELECT string_agg(t::text, ';' ORDER BY table_name) FROM claims.tracked_tables AS t),
        (SELECT string_agg(o::text, ';' ORDER BY o::text) FROM claims.field_owners AS o),
        (SELECT string_agg(r::text, ';' ORDER BY r::text) FROM claims.reaper_runs AS r),
        (SELECT count(*) FROM pg_trigger),
        (SELECT string_agg(attname, ';' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'orders'::regclass),
        (SELECT string_agg(c::text, ';' ORDER BY id) FROM customers AS c)))
"""
LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
# Asked to wait for what somebody else has.
WAITING = {
    "claim_slot, wait": "claim_slot('kept', 'other', wait => '50 s')",
    "claim_period, wait": "claim_period('moved', 'other', '2031-01-02T09:00Z', '2031-01-02T10:00Z', wait => '50 s')",
    "claim_units, wait": "claim_units('pool', 'other', 100, wait => '50 s')",
    "claim_many, wait": """claim_many('[{"slot_id": "kept"}, {"slot_id": "extended"}]', 'other', wait => '50 s')""",
}


def one(session, query):
    return session.execute(query).fetchone()[0]


def made_anew(server):
    """A session in the server's database, everything in it made anew."""
    with server.connect("postgres") as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {server.database} WITH (FORCE)")
    server.create_database()
    session = server.connect()
    session.execute(SETUP)
    return session


@pytest.mark.parametrize("how", ["statement_timeout", "pg_cancel_backend"])
def test_every_call_that_waits_can_be_interrupted(servers, how):
    """Somebody makes the same call in a transaction that stays open; this one gets 57014, or `busy` at once."""
    server = servers("interrupted")
    told = {}
    with made_anew(server) as watcher, server.connect() as holder, server.connect() as caller:
        caller.execute("SET pg_claims.lock_wait = '50 s'")
        for name, call in (WAITING | WRITING).items():
            before = one(watcher, STATE)
            holder.execute("BEGIN")
            if name not in WAITING:
                ask(holder, call)
            told[name] = interrupted(caller, watcher, call, how)
            holder.execute("ROLLBACK")
            assert told[name] in ("57014", "busy"), f"{name}: {told[name]}"
            assert one(watcher, STATE) == before, f"{name} has changed something"
            assert one(caller, LOCKS) == 0, f"{name} has left a lock"
            assert ask(caller, "claim_slot('after it', %s)", name)["outcome"] in ("claimed", "taken")
            ask(watcher, "release_slot('after it', %s)", name)
            if name in WRITING and name not in ("holds_slot", "require_slot"):
                before = one(watcher, STATE)
                ask(caller, call)
                assert one(watcher, STATE) != before, f"{name} changes something when nobody interrupts it"
    assert [name for name in WAITING if told[name] != "57014"] == []
    print("\nat once busy:", ", ".join(name for name in told if told[name] == "busy"))
    server.assert_sound()
    server.never_crashed()


def interrupted(caller, watcher, call, how):
    """The SQLSTATE, or the outcome."""
    if how == "statement_timeout":
        caller.execute("SET statement_timeout = '150 ms'")
    else:
        pid = caller.info.backend_pid
        waits = f"SELECT query LIKE 'SELECT %(%' AND state = 'active' AND clock_timestamp() - query_start > '100 ms' FROM pg_stat_activity WHERE pid = {pid}"
        canceller = threading.Thread(target=lambda: until(
            "it waits or is done", lambda: over.is_set() or one(watcher, waits) and one(watcher, f"SELECT pg_cancel_backend({pid})")))
        over = threading.Event()
        canceller.start()
    try:
        answer = ask(caller, call)
        return answer["outcome"] if isinstance(answer, dict) else str(answer)
    except psycopg.Error as error:
        return error.sqlstate
    finally:
        if how == "statement_timeout":
            caller.execute("SET statement_timeout = 0")
        else:
            over.set()
            canceller.join()


def test_a_call_cancelled_at_any_moment_has_done_nothing(servers):
    """Cancels rain on a session that makes every call, from the first planning of its statements on."""
    rounds, seed = 40, random.randrange(1 << 32)
    rng = random.Random(seed)
    server = servers("cancelled")
    cancelled, answered = 0, 0
    with made_anew(server) as watcher, server.connect() as canceller:
        for _ in range(rounds):
            caller = server.connect()
            over = threading.Event()
            rain = threading.Thread(target=cancels, args=(canceller, caller.info.backend_pid, over, rng.choice([0.5, 2, 8])))
            rain.start()
            for name, call in CALLS.items():
                before = one(watcher, STATE)
                try:
                    ask(caller, call)
                    answered += 1
                except psycopg.errors.QueryCanceled:
                    cancelled += 1
                    assert one(watcher, STATE) == before, f"{name} was cancelled and has changed something (seed {seed})"
                except psycopg.Error as error:
                    # What an earlier call would have made is not there.
                    assert error.sqlstate == "55000", f"{name}: {error} (seed {seed})"
            over.set()
            rain.join()
            assert until_quiet(caller, LOCKS) == 0
            assert ask(caller, "check_claims()")["ok"]
            caller.close()
    print(f"\nseed {seed}: {cancelled} calls cancelled, {answered} answered")
    assert cancelled > 50 and answered > 50
    server.assert_sound()
    server.never_crashed()


def cancels(session, pid, over, pause_ms):
    while not over.is_set():
        session.execute("SELECT pg_cancel_backend(%s)", [pid])
        time.sleep(random.uniform(0, pause_ms / 1000))


def until_quiet(session, query):
    """The last cancel may still be on its way."""
    while True:
        try:
            return one(session, query)
        except psycopg.errors.QueryCanceled:
            continue
