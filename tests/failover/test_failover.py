"""A primary and its streaming standby; the primary dies, the standby takes over."""

import random
import threading
import time

import pytest

from calls import CALLS, LOOKING, SETUP, WRITING
from crowd import Crowd
from own_server import ask, refusal, until

# Answers that the crowd has got before the primary dies, and those that it gets afterwards.
BEFORE, AFTER = 1_500, 800


@pytest.fixture
def pair(servers):
    """A primary that may wait for its standby, and the standby."""

    def make(synchronous_commit):
        # Until there is a standby, nobody can wait for it.
        primary = servers("primary", synchronous_standby_names="*", synchronous_commit="local")
        standby = servers.keep(primary.standby("standby"))
        until("the standby streams", lambda: state_of_standby(primary) == "streaming")
        with primary.connect("postgres") as admin:
            admin.execute(f"ALTER DATABASE {primary.database} SET synchronous_commit = {synchronous_commit}")
        return primary, standby

    return make


def state_of_standby(primary):
    with primary.connect("postgres") as admin:
        row = admin.execute("SELECT state FROM pg_stat_replication").fetchone()
    return row and row[0]


def until_replayed(primary, standby):
    with primary.connect("postgres") as admin:
        written = admin.execute("SELECT pg_current_wal_lsn()").fetchone()[0]
    with standby.connect("postgres") as session:
        until("the standby has replayed", lambda: session.execute(
            "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]).fetchone()[0])


def failover_in_a_stampede(primary, standby, before_the_kill=lambda crowd: None):
    """What a crowd was told before and after, and when the primary died."""
    seed = random.randrange(1 << 32)
    with Crowd(primary, seed) as crowd:
        crowd.until_told(BEFORE)
        before_the_kill(crowd)
        primary.kill()
        died = time.monotonic()
        standby.promote()
        crowd.server = standby
        crowd.until_told(AFTER)
    before = [told for told in crowd.told if told.ended < died]
    print(f"\nseed {seed}: {len(before)} acknowledged before, {len(crowd.told) - len(before)} after, {crowd.unanswered} without an answer;"
          f" {crowd.tally()}")
    assert crowd.unanswered > 0, "the primary died in the middle of a call"
    standby.assert_sound()
    return crowd, before


def test_synchronous_no_acknowledged_claim_is_lost_and_nobody_wins_twice(pair):
    primary, standby = pair("on")
    crowd, _ = failover_in_a_stampede(primary, standby)
    assert crowd.broken_promises(standby) == {}
    standby.never_crashed()


def test_asynchronous_the_last_moments_are_lost_and_nothing_before(pair):
    """How much depends on how far the standby is behind. Here it gets nothing of the last answers."""
    primary, standby = pair("local")

    def fall_behind(crowd):
        primary.process("walsender").suspend()
        crowd.until_told(100)

    crowd, before = failover_in_a_stampede(primary, standby, fall_behind)
    lost = set(crowd.broken_promises(standby)["lost"])
    lost_before = [told for told in before if told in lost]
    first = min(told.ended for told in lost_before)
    last = max(told.ended for told in before)
    print(f"{len(lost_before)} of {len(before)} acknowledged answers are lost: those of the last {(last - first) * 1000:.0f} ms")
    assert len(lost_before) < len(before) - BEFORE / 2, "what the standby had got is kept"
    # WAL is one sequence: what began after the first loss was acknowledged is lost as well.
    assert [told for told in before if told.begun > first and told not in lost] == []
    standby.never_crashed()


def test_asynchronous_a_booking_can_be_lost_and_won_again(pair):
    primary, standby = pair("local")
    primary.process("walsender").suspend()
    with primary.connect() as session:
        assert ask(session, "claim_slot('the slot', 'run 1', ttl => '1 h')")["ok"]
        assert ask(session, "confirm_slot('the slot', 'run 1', 1)")["ok"]
    primary.kill()
    standby.promote()
    with standby.connect() as session:
        again = ask(session, "claim_slot('the slot', 'run 2', ttl => '1 h')")
    # The fence cannot tell them apart: the token went with the claim.
    assert (again["outcome"], again["token"]) == ("claimed", 1), again
    standby.assert_sound()


CLAIM = "claim_slot('the slot', 'run 1', ttl => '1 h')"

# Who asks for a synchronous commit of claims alone: how, what the caller sends, and whether the claim waits.
WAYS = {
    "nobody": (None, f"SELECT {CLAIM}", False),
    "the role": ("ALTER ROLE n8n SET synchronous_commit = on", f"SELECT {CLAIM}", True),
    "the transaction": (None, f"BEGIN; SET LOCAL synchronous_commit = on; SELECT {CLAIM}; COMMIT", True),
    "the statement": (None, f"SELECT {CLAIM}, set_config('synchronous_commit', 'on', true)", True),
    # A function's setting is undone when it returns, and the commit comes after that.
    "the function": ("ALTER FUNCTION claim_slot SET synchronous_commit = on", f"SELECT {CLAIM}", False),
}
UNDO = """
    ALTER ROLE n8n RESET ALL;
    ALTER FUNCTION claim_slot RESET synchronous_commit;
    SELECT release_slot('the slot', 'run 1')
"""


def test_who_can_ask_for_a_synchronous_commit_of_claims_alone(pair):
    primary, _ = pair("local")
    sender = primary.process("walsender")
    with primary.connect() as admin:
        admin.execute("CREATE ROLE n8n LOGIN")
        ask(admin, "claims.grant_access('n8n')")
        for way, (setup, statement, waits) in WAYS.items():
            if setup:
                admin.execute(setup)
            with primary.connect(user="n8n") as session:
                sender.suspend()
                caller = threading.Thread(target=session.execute, args=[statement])
                caller.start()
                try:
                    assert until(way, lambda: what_it_does(caller, session, admin)) == ("waits" if waits else "is answered")
                finally:
                    sender.resume()
                    caller.join()
            admin.execute(UNDO)


def what_it_does(caller, session, watcher):
    """`None` as long as that cannot be told."""
    if not caller.is_alive():
        return "is answered"
    row = watcher.execute("SELECT wait_event FROM pg_stat_activity WHERE pid = %s", [session.info.backend_pid]).fetchone()
    return "waits" if row == ("SyncRep",) else None


def test_a_wait_for_the_standby_that_is_cancelled_has_committed_here_alone(pair):
    """PostgreSQL's own rule: it says so in a WARNING, and the answer says ok."""
    primary, standby = pair("on")
    sender = primary.process("walsender")
    warnings, answers = [], []
    with primary.connect() as session, primary.connect() as watcher:
        watcher.execute("SET synchronous_commit = local")
        session.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
        session.execute("SET client_min_messages = warning")
        sender.suspend()
        caller = threading.Thread(target=lambda: answers.append(ask(session, CLAIM)))
        caller.start()
        assert until("the claim is under way", lambda: what_it_does(caller, session, watcher)) == "waits"
        # Until then nobody sees it.
        assert ask(watcher, "check_slot('the slot')")["outcome"] == "absent"
        watcher.execute("SELECT pg_cancel_backend(%s)", [session.info.backend_pid])
        caller.join()
    assert answers[0]["ok"] and "canceling wait for synchronous replication" in warnings[0]
    primary.kill()
    standby.promote()
    with standby.connect() as session:
        assert ask(session, "check_slot('the slot')")["outcome"] == "absent"


def test_a_restored_backup_has_what_it_had_then(servers):
    server = servers("backed_up")
    with server.connect() as session:
        assert ask(session, "claim_slot('confirmed since', 'run', ttl => '1 h')")["token"] == 1
        assert ask(session, "claim_slot('cancelled since', 'run', ttl => '1 h')")["ok"]
        assert ask(session, "confirm_slot('cancelled since', 'run', 1)")["ok"]
        backup = servers.keep(server.copy("backup"))
        assert ask(session, "confirm_slot('confirmed since', 'run', 1)")["outcome"] == "confirmed"
        assert ask(session, "cancel_slot('cancelled since', 'desk', 1)")["outcome"] == "cancelled"
        assert ask(session, "claim_slot('cancelled since', 'another')")["token"] == 2
    backup.start()
    with backup.connect() as session:
        assert ask(session, "check_slot('confirmed since')")["outcome"] == "claimed"
        assert ask(session, "check_slot('cancelled since')")["outcome"] == "booked"
        # What is over here goes on there: the same token, to somebody else.
        assert ask(session, "cancel_slot('cancelled since', 'desk', 1)")["outcome"] == "cancelled"
        again = ask(session, "claim_slot('cancelled since', 'a third')")
        assert (again["outcome"], again["token"]) == ("claimed", 2), again
    backup.assert_sound()


def test_on_a_standby_each_writing_call_is_refused_and_each_check_answers(pair):
    primary, standby = pair("local")
    with primary.connect() as session:
        session.execute(SETUP)
        everything = {name for name, in session.execute(
            "SELECT proname FROM pg_proc JOIN pg_depend ON objid = pg_proc.oid AND classid = 'pg_proc'::regclass"
            " JOIN pg_extension AS e ON refobjid = e.oid AND refclassid = 'pg_extension'::regclass"
            " WHERE extname = 'pg_claims' AND pronamespace = 'public'::regnamespace")}
    # Those two need pg_cron, which does not run on a standby.
    assert everything == set(CALLS) | {"schedule_reaper", "unschedule_reaper"}
    until_replayed(primary, standby)
    with standby.connect() as session:
        for name, call in LOOKING.items():
            assert "ok" in ask(session, call), name
        for name, call in WRITING.items():
            said = refusal(session, call)
            assert said.sqlstate == "25006", f"{name}: {said.sqlstate} {said.message_primary}"
            assert said.message_hint, name
            words = " ".join(str(word) for word in (said.message_primary, said.message_detail, said.message_hint, said.context))
            assert "backtrace" not in words and ".rs" not in words, words
        print("\n" + said.message_primary, said.message_detail, said.message_hint, sep="\n")
    standby.never_crashed()
    primary.never_crashed()
