"""exclusive-run: one run at a time, with waiting, a heartbeat and a release."""

import pytest

from harness.waiting import wait_until

LOCK = "run:exclusive-run"
STEPS = ["fetch", "work out", "write"]


@pytest.fixture(scope="module", autouse=True)
def published(whole_n8n):
    """Its schedule is for the night; the stories start it by its webhook."""
    whole_n8n.publish("exclusive-run")


def steps(world, since):
    return world.requests("work", "POST")[since:]


def lock(claims):
    return claims.row("SELECT * FROM claims.slot_claims WHERE slot_id = %s ORDER BY token DESC LIMIT 1", LOCK)


def test_the_second_run_waits_for_the_first(n8n, world, claims):
    before = len(steps(world, 0))
    world.slow("work", "POST", 0.5)
    answers = n8n.post_all("exclusive-run", [{"steps": STEPS}] * 2)
    assert [(answer.status, answer.outcome) for answer in answers] == [(200, "released")] * 2
    # They were sent together; none of the steps of one lies between those of the other.
    assert max(answer.sent_at for answer in answers) < min(answer.answered_at for answer in answers)
    done = steps(world, before)
    assert [request.body["step"] for request in done] == STEPS * 2
    first, second = (run["holder"] for run in claims.history(LOCK)[-2:])
    assert [request.body["run"] for request in done] == [first] * 3 + [second] * 3
    assert all(earlier.ended_at <= later.started_at for earlier, later in zip(done, done[1:]))


def test_it_does_not_wait_for_ever(n8n, world, claims):
    before = len(steps(world, 0))
    token = claims.value("SELECT claim_slot(%s::text, 'another', ttl => '10 min')", LOCK)["token"]
    answer = n8n.post("exclusive-run", {"steps": STEPS})
    assert (answer.status, answer.outcome, answer.body["held_by"]) == (409, "taken", "another")
    assert steps(world, before) == []
    claims.value("SELECT release_slot(%s::text, 'another', %s)", LOCK, token)


def test_a_dead_run_is_not_in_the_way_for_longer_than_its_lease(n8n, world, claims):
    claims.value("SELECT claim_slot(%s::text, 'dead', ttl => '2 s')", LOCK)
    answer = n8n.post("exclusive-run", {"steps": STEPS})
    assert (answer.status, answer.outcome) == (200, "released")
    assert [run["status"] for run in claims.history(LOCK)[-2:]] == ["expired", "released"]


def test_each_step_extends_the_lease(n8n, world, claims):
    before = len(steps(world, 0))
    world.hold("work", "POST")
    [sent] = n8n.send("exclusive-run", [{"steps": STEPS}])
    wait_until(lambda: steps(world, before), "the first step has begun")
    at_first = lock(claims)
    world.normal()
    world.hold("work", "POST")
    wait_until(lambda: len(steps(world, before)) > 1, "the second step has begun")
    extended = lock(claims)
    assert extended["token"] == at_first["token"]
    assert extended["expires_at"] > at_first["expires_at"]
    world.normal()
    assert sent.result().status == 200


def test_a_run_that_was_too_slow_stops(n8n, world, claims):
    before = len(steps(world, 0))
    world.hold("work", "POST")
    [sent] = n8n.send("exclusive-run", [{"steps": STEPS}])
    wait_until(lambda: steps(world, before), "the first step has begun")
    claims.execute("UPDATE claims.slot_claims SET expires_at = clock_timestamp() WHERE slot_id = %s AND status = 'claimed'", LOCK)
    other = claims.value("SELECT claim_slot(%s::text, 'another')", LOCK)
    assert other["outcome"] == "reclaimed"
    world.normal()
    answer = sent.result()
    assert (answer.status, answer.outcome, answer.body["lost_to"]) == (409, "lost", "another")
    assert len(steps(world, before)) == 1
    assert claims.value("SELECT release_slot(%s::text, 'another', %s)", LOCK, other["token"])["outcome"] == "released"


def test_a_step_that_fails_ends_the_run_and_frees_the_lock(n8n, world, claims):
    world.refuse("work", "POST")
    answer = n8n.post("exclusive-run", {"steps": STEPS})
    assert (answer.status, answer.outcome) == (500, "released")
    assert claims.slot(LOCK)["ok"]
