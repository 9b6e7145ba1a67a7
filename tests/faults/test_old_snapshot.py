"""Somebody's transaction stays open for hours, and keeps PostgreSQL from cleaning up."""

import time

from own_server import ask

CYCLES, STEP = 10_000, 1_000


def test_ten_thousand_cycles_on_one_slot_while_an_old_snapshot_is_held(servers):
    server = servers("old_snapshot", autovacuum="on", synchronous_commit="off")
    with server.connect() as old, server.connect() as session:
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        pace = []
        for first in range(1, CYCLES + 1, STEP):
            started = time.monotonic()
            for token in range(first, first + STEP):
                claim = ask(session, "claim_slot('the slot', 'run', ttl => '1 h')")
                assert (claim["outcome"], claim["token"]) == ("claimed", token), claim
                released = ask(session, "release_slot('the slot', 'run', %s)", token)
                assert released["outcome"] == "released", released
            pace.append((time.monotonic() - started) * 1000 / STEP)
        held = [f"{ms:.2f}" for ms in pace]
        print(f"\nms for a claim and its release, of each {STEP} cycles: {' '.join(held)}")
        # What others want while the old snapshot lives.
        assert ask(session, "check_slot('the slot')")["outcome"] == "free"
        old.execute("COMMIT")
        session.execute("VACUUM claims.slot_claims")
        started = time.monotonic()
        for token in range(CYCLES + 1, CYCLES + 1 + STEP):
            assert ask(session, "claim_slot('the slot', 'run', ttl => '1 h')")["token"] == token
            assert ask(session, "release_slot('the slot', 'run', %s)", token)["ok"]
        print(f"and when it is gone: {(time.monotonic() - started) * 1000 / STEP:.2f}")
    server.assert_sound()
    server.never_crashed()
