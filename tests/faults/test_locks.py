"""More locks than the server has room for, and locks of the user's own around our calls."""

import json
import threading
from collections import Counter

import psycopg

from own_server import ask, refusal


def slots(first, count):
    return json.dumps([{"slot_id": f"slot {number:06}"} for number in range(first, first + count)])


def test_a_hundred_thousand_at_once_are_refused_before_anything_is_locked(servers):
    server = servers("locks")
    with server.connect() as session:
        said = refusal(session, "claim_many(%s::jsonb, 'run')", slots(0, 100_000))
        print(f"\n{said.sqlstate} {said.message_primary}\n{said.message_detail}\n{said.message_hint}")
        assert said.sqlstate == "22023" and "1000" in said.message_detail.replace(",", "") and said.message_hint
        # As many as are allowed have room in a server that is as PostgreSQL comes.
        assert ask(session, "claim_many(%s::jsonb, 'run')", slots(0, 1_000))["ok"]
    server.assert_sound()
    server.never_crashed()


def test_when_the_lock_table_is_full_a_call_claims_all_or_nothing(servers):
    """Sessions that each claim a thousand slots and stay in their transaction, until one finds no room."""
    server = servers("lock_table", max_connections=100)
    sessions, claimed = [], []
    try:
        while len(sessions) < 25:
            session = server.connect()
            sessions.append(session)
            session.execute("BEGIN")
            first = 1_000 * len(sessions)
            try:
                assert ask(session, "claim_many(%s::jsonb, 'run', ttl => '1 h')", slots(first, 1_000))["ok"]
                claimed.append(session)
            except psycopg.errors.OutOfMemory as error:
                said = error.diag
                break
        else:
            raise AssertionError("the lock table was never full")
        print(f"\n{len(claimed)} sessions had room; then {said.sqlstate} {said.message_primary}\n{said.message_hint}")
        assert said.sqlstate == "53200" and "max_locks_per_transaction" in said.message_hint
        sessions[-1].execute("ROLLBACK")
        for session in claimed:
            session.execute("COMMIT")
        with server.connect() as session:
            count = session.execute("SELECT count(*) FROM claims.slot_claims").fetchone()[0]
            assert count == 1_000 * len(claimed), "what was refused has left nothing"
            locks = session.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()[0]
            assert locks == 0
        # The session that found no room goes on.
        assert ask(sessions[-1], "claim_slot('another', 'run')")["ok"]
    finally:
        for session in sessions:
            session.close()
    server.assert_sound()
    server.never_crashed()


def test_a_lock_of_the_users_and_a_claim_in_opposite_orders_do_not_deadlock(servers):
    """A claim is waited for within a bound only, so whoever waits for it lets go."""
    server = servers("opposite", deadlock_timeout="100ms")
    for lock in ("SELECT pg_advisory_xact_lock(7)", "SELECT FROM customers WHERE id = 1 FOR UPDATE", "LOCK TABLE customers"):
        with server.connect() as first, server.connect() as second:
            first.execute("CREATE TABLE IF NOT EXISTS customers (id int PRIMARY KEY)")
            first.execute("INSERT INTO customers VALUES (1) ON CONFLICT DO NOTHING")
            first.execute("BEGIN")
            first.execute(lock)
            second.execute("BEGIN")
            assert ask(second, "claim_slot('the slot', 'second', ttl => '1 h')")["ok"]
            waiting = threading.Thread(target=second.execute, args=[lock])
            waiting.start()
            try:
                for call in ("claim_slot('the slot', 'first')", "confirm_slot('the slot', 'second', 1)",
                             """claim_many('[{"slot_id": "a"}, {"slot_id": "the slot"}]', 'first')"""):
                    assert ask(first, call)["outcome"] == "busy", call
            finally:
                first.execute("COMMIT")
                waiting.join()
            second.execute("COMMIT")
            assert ask(second, "release_slot('the slot', 'second')")["outcome"] == "released"
    server.assert_sound()
    server.never_crashed()


def test_a_deadlock_of_the_users_own_locks_takes_the_victims_claims_back(servers):
    server = servers("deadlock", deadlock_timeout="100ms")
    told = {}
    with server.connect() as admin:
        admin.execute("CREATE TABLE accounts (id int PRIMARY KEY, amount int); INSERT INTO accounts VALUES (1, 0), (2, 0)")
    both_have_one = threading.Barrier(2)

    def run(name, own, other):
        with server.connect() as session:
            try:
                session.execute("BEGIN")
                assert ask(session, "claim_slot(%s, %s, ttl => '1 h')", f"slot of {name}", name)["ok"]
                assert ask(session, "begin_key(%s, %s)", f"key of {name}", name)["ok"]
                session.execute("UPDATE accounts SET amount = 1 WHERE id = %s", [own])
                both_have_one.wait()
                session.execute("UPDATE accounts SET amount = 2 WHERE id = %s", [other])
                assert ask(session, "confirm_slot(%s, %s)", f"slot of {name}", name)["ok"]
                session.execute("COMMIT")
                told[name] = "committed"
            except psycopg.errors.DeadlockDetected:
                session.execute("ROLLBACK")
                told[name] = "deadlock"

    threads = [threading.Thread(target=run, args=args) for args in (("first", 1, 2), ("second", 2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(told.values()) == {"committed": 1, "deadlock": 1}, told
    with server.connect() as session:
        for name, how in told.items():
            slot, key = ("booked", "pending") if how == "committed" else ("absent", "absent")
            assert ask(session, f"check_slot('slot of {name}')")["outcome"] == slot
            assert ask(session, f"check_key('key of {name}')")["outcome"] == key
    server.assert_sound()
    server.never_crashed()
