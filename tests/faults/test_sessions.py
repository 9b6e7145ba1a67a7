"""Sessions that are thrown out, and sessions that do not get in."""

import contextlib
import threading
from collections import Counter

import psycopg

from own_server import ask, until


def test_a_session_that_idles_in_its_transaction_gives_its_claim_back(servers):
    server = servers("idle")
    with server.connect() as idle, server.connect() as other:
        idle.execute("BEGIN")
        assert ask(idle, "claim_slot('the slot', 'idle run')")["token"] == 1
        assert ask(idle, "begin_key('the key', 'idle run')")["outcome"] == "run"
        assert ask(other, "claim_slot('the slot', 'other run')")["outcome"] == "busy"
        idle.execute("SET LOCAL idle_in_transaction_session_timeout = '300 ms'")
        until("the slot is free", lambda: ask(other, "claim_slot('the slot', 'other run')")["outcome"] in ("claimed", "already_yours"))
        assert ask(other, "begin_key('the key', 'other run')")["outcome"] == "run"
        try:
            ask(idle, "confirm_slot('the slot', 'idle run', 1)")
            raise AssertionError("the session was to be thrown out")
        except psycopg.Error as error:
            assert error.sqlstate == "25P03", error
        assert ask(other, "confirm_slot('the slot', 'other run', 1)")["outcome"] == "confirmed"
    server.assert_sound()
    server.never_crashed()


def gets_in(server):
    with contextlib.suppress(psycopg.OperationalError):
        server.connect(user="n8n").close()
        return True


def test_whoever_gets_no_connection_is_told_so_and_one_of_the_others_wins(servers):
    server = servers("full", max_connections=12, superuser_reserved_connections=3)
    with server.connect() as admin:
        admin.execute("CREATE ROLE n8n LOGIN")
        ask(admin, "claims.grant_access('n8n')")
    told, sessions = [], []
    start = threading.Barrier(40)

    def run(number):
        start.wait()
        try:
            session = server.connect(user="n8n")
        except psycopg.OperationalError as error:
            # libpq has no SQLSTATE for a connection that was refused.
            told.append("refused" if "remaining connection slots" in str(error) or "too many clients" in str(error) else str(error))
            return
        sessions.append(session)  # and stays
        told.append(ask(session, "claim_slot('the slot', %s)", f"run {number}")["outcome"])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = Counter(told)
    print(f"\n{dict(counts)}")
    assert counts["refused"] >= 40 - 12 and counts["claimed"] == 1
    assert set(counts) <= {"refused", "claimed", "taken", "busy"}, counts
    for session in sessions:
        assert ask(session, "check_slot('the slot')")["outcome"] == "claimed"
        session.close()
    until("there is room again", lambda: gets_in(server))
    server.assert_sound()
    server.never_crashed()
