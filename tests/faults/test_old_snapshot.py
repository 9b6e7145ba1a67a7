"""Somebody's transaction stays open for hours, and keeps PostgreSQL from cleaning up."""

import time

from own_server import ask

CYCLES, STEP = 10_000, 1_000
# How often a page of the table was looked at.
PAGE_VISITS = "SELECT heap_blks_hit + heap_blks_read FROM pg_statio_user_tables WHERE relid = 'claims.slot_claims'::regclass"


def test_ten_thousand_cycles_on_one_slot_while_an_old_snapshot_is_held(servers):
    server = servers("old_snapshot", autovacuum="on", synchronous_commit="off")
    with server.connect() as old, server.connect() as session:
        old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        print()
        for first in range(1, CYCLES, STEP):
            print(f"after {first - 1}: {cycles(session, first)}")
        assert ask(session, "check_slot('the slot')")["outcome"] == "free"
        old.execute("COMMIT")
        session.execute("VACUUM claims.slot_claims")
        print(f"without it: {cycles(session, CYCLES + 1)}")
    server.assert_sound()
    server.never_crashed()


def cycles(session, first):
    """Claims and releases, each with the right answer; and what one of them costs."""
    visits, started = session.execute(PAGE_VISITS).fetchone()[0], time.monotonic()
    for token in range(first, first + STEP):
        claim = ask(session, "claim_slot('the slot', 'run', ttl => '1 h')")
        assert (claim["outcome"], claim["token"]) == ("claimed", token), claim
        released = ask(session, "release_slot('the slot', 'run', %s)", token)
        assert released["outcome"] == "released", released
    took = time.monotonic() - started
    session.execute("SELECT pg_stat_force_next_flush()")
    visits = session.execute(PAGE_VISITS).fetchone()[0] - visits
    return f"{visits / STEP:.0f} page visits, {took * 1000 / STEP:.1f} ms a claim and its release"
