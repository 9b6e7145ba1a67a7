"""book-slot: of any number of requests for one slot, one is booked, and each caller is told."""

import json
import time
from collections import Counter

import pytest

from harness.booking import booking, bookings_under_way, made
from harness.places import WORKFLOWS
from harness.waiting import wait_until


def all_at_once(n8n, world, slot, bodies):
    """Sends them together. The calendar lets nobody book before everybody has either been answered or is
    at the calendar; but for some seconds at most, as the workflow does not wait for ever."""
    world.hold("calendar", "POST")
    sent = n8n.send("book-slot", bodies)
    wait_until(lambda: bookings_under_way(world, slot), "somebody is booking")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and \
            sum(one.done() for one in sent) + len(bookings_under_way(world, slot)) < len(bodies):
        time.sleep(0.05)
    world.open()
    return [one.result() for one in sent]


def assert_overlap(world, slot, answers):
    """The calendar's log says that the one booking ended after everybody had asked."""
    request, = bookings_under_way(world, slot)
    assert all(answer.sent_at < request.ended_at for answer in answers)


def outcomes(answers):
    assert all(answer.body["message"] for answer in answers)
    return Counter((answer.status, answer.outcome) for answer in answers)


def test_one_request_is_booked(n8n, world, claims, slot, event):
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(200, "booked"): 1}
    assert answer.body["booking"] == made(world, slot)[0]
    assert len(made(world, slot)) == 1
    assert claims.slot(slot)["outcome"] == "booked"
    assert claims.key(event)["outcome"] == "done"


def test_twenty_requests_for_one_slot_are_one_booking(n8n, world, claims, slot, event):
    answers = all_at_once(n8n, world, slot, [booking(f"{event}-{n}", slot) for n in range(20)])
    assert len(made(world, slot)) == 1
    assert outcomes(answers) == {(200, "booked"): 1, (409, "taken"): 19}
    assert_overlap(world, slot, answers)
    assert [claim["status"] for claim in claims.history(slot)] == ["booked"]
    # Each of the nineteen may be sent again, for another slot.
    keys = claims.rows("SELECT status, count(*) FROM claims.keys WHERE key LIKE %s GROUP BY status", f"{event}-%")
    assert {key["status"]: key["count"] for key in keys} == {"done": 1, "failed": 19}


def test_one_event_sent_twenty_times_at_once_is_one_booking(n8n, world, claims, slot, event):
    answers = all_at_once(n8n, world, slot, [booking(event, slot)] * 20)
    assert len(made(world, slot)) == 1
    # Whoever comes late on a slow machine gets the first answer again.
    assert outcomes(answers).keys() == {(200, "booked"), (409, "wait")}
    assert all(answer.body["booking"] == made(world, slot)[0] for answer in answers if answer.status == 200)
    assert_overlap(world, slot, answers)
    assert claims.key(event)["attempt"] == 1


def test_one_event_sent_three_times_gets_its_first_answer_again(n8n, world, claims, slot, event):
    answers = [n8n.post("book-slot", booking(event, slot)) for _ in range(3)]
    assert outcomes(answers) == {(200, "booked"): 3}
    assert answers[0].body == answers[1].body == answers[2].body
    assert len(made(world, slot)) == 1
    assert claims.key(event)["attempt"] == 1


def test_another_request_under_one_event_id_is_a_mismatch(n8n, world, claims, slot, event):
    n8n.post("book-slot", booking(event, slot))
    answer = n8n.post("book-slot", booking(event, f"{slot} and another"))
    assert outcomes([answer]) == {(422, "mismatch"): 1}
    assert made(world, f"{slot} and another") == []
    assert claims.slot(f"{slot} and another")["outcome"] == "absent"


def test_overlapping_periods_are_one_booking(n8n, world, claims, slot, event):
    def period(number, starts_at, ends_at):
        return booking(f"{event}-{number}", slot, starts_at=f"2027-03-01T{starts_at}:00Z",
                       ends_at=f"2027-03-01T{ends_at}:00Z")

    answers = all_at_once(n8n, world, slot, [period(n, "10:00", "11:00") for n in range(3)]
                          + [period(n, "10:30", "11:30") for n in range(3, 6)])
    assert outcomes(answers) == {(200, "booked"): 1, (409, "taken"): 5}
    assert_overlap(world, slot, answers)
    world.normal()
    assert n8n.post("book-slot", period(6, "11:30", "12:00")).outcome == "booked"
    assert len(made(world, slot)) == 2
    assert claims.value("SELECT count(*) FROM claims.active WHERE slot_id = %s", slot) == 2


def test_what_the_calendar_refuses_is_free_again(n8n, world, claims, slot, event):
    world.refuse("calendar", "POST", message="we are closed")
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(409, "refused"): 1}
    assert answer.body["reason"] == "we are closed"
    assert claims.slot(slot)["outcome"] == "free"
    assert claims.key(event)["outcome"] == "failed"
    assert made(world, slot) == []

    world.normal()
    assert n8n.post("book-slot", booking(event, slot)).outcome == "booked"
    assert len(made(world, slot)) == 1
    assert claims.key(event)["attempt"] == 2


def test_what_somebody_booked_by_hand_is_seen_before_booking(n8n, world, claims, slot, event):
    world.client.post("/bookings", headers={"Host": "calendar.example"}, json={"slot": slot, "customer": "by hand"})
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(409, "refused"): 1}
    assert len(made(world, slot)) == 1
    assert claims.slot(slot)["outcome"] == "free"
    assert claims.key(event)["outcome"] == "failed"


def test_a_booking_that_timed_out_is_found_when_the_event_comes_again(n8n, world, claims, slot, event):
    world.lose("calendar", "POST")
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(504, "unknown"): 1}
    assert claims.slot(slot)["outcome"] == "review"
    assert claims.key(event)["outcome"] == "overdue"
    assert n8n.post("book-slot", booking(f"{event}-other", slot)).outcome == "taken"

    world.normal()
    again = n8n.post("book-slot", booking(event, slot))
    assert outcomes([again]) == {(200, "booked"): 1}
    assert [again.body["booking"]] == made(world, slot)
    assert claims.slot(slot)["outcome"] == "booked"
    assert claims.key(event)["outcome"] == "done"


def test_an_event_whose_slot_was_given_away_meanwhile_stays_unknown(n8n, world, claims, slot, event):
    world.hold("calendar", "POST")
    assert n8n.post("book-slot", booking(event, slot)).outcome == "unknown"
    world.normal()
    # Somebody looked by hand and freed the slot, and another has it now.
    freed = claims.value("SELECT resolve_slot(slot_id, holder, token, 'released') FROM claims.needs_check WHERE slot_id = %s",
                         slot)
    assert freed["ok"]
    assert n8n.post("book-slot", booking(f"{event}-other", slot)).outcome == "booked"

    assert outcomes([n8n.post("book-slot", booking(event, slot))]) == {(409, "taken"): 1}
    assert claims.key(event)["outcome"] == "overdue"
    assert len(made(world, slot)) == 1


def test_a_lost_answer_of_the_claim_is_asked_for_again(n8n, world, claims, proxy, slot, event):
    dropped = proxy.drop_answer("begin_key", event)
    answer = n8n.post("book-slot", booking(event, slot))
    assert dropped.hits == 1
    assert outcomes([answer]) == {(200, "booked"): 1}
    assert len(made(world, slot)) == 1
    execution = run_of(n8n, "book-slot", event)
    claim = node_output(execution, "Claim")["claim"]
    assert (claim["ok"], claim["replayed"], claim["after"]["replayed"]) == (True, True, True)
    assert [row["token"] for row in claims.history(slot)] == [1]


def test_a_lost_answer_of_the_confirm_is_asked_for_again(n8n, world, claims, proxy, slot, event):
    dropped = proxy.drop_answer("finish_key", event)
    answer = n8n.post("book-slot", booking(event, slot))
    assert dropped.hits == 1
    assert outcomes([answer]) == {(200, "booked"): 1}
    assert [answer.body["booking"]] == made(world, slot)
    assert claims.key(event)["outcome"] == "done"


def test_n8n_killed_between_claim_and_booking_books_once_when_the_event_comes_again(n8n, world, claims, slot, event):
    world.hold("calendar", "GET")
    kill_while(n8n, booking(event, slot), lambda: world.requests("calendar", "GET", slot=slot))
    assert claims.slot(slot)["outcome"] == "claimed"

    world.normal()
    n8n.start()
    # n8n finds the run that it did not finish, and starts the error workflow for it.
    wait_until(lambda: claims.slot(slot)["outcome"] == "review", "the error workflow has run")
    assert claims.key(event)["outcome"] == "overdue"
    assert n8n.post("book-slot", booking(f"{event}-other", slot)).outcome == "taken"
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(200, "booked"): 1}
    assert len(made(world, slot)) == 1


def test_n8n_killed_after_the_booking_finds_it_when_the_event_comes_again(n8n, world, claims, slot, event):
    world.lose("calendar", "POST")
    kill_while(n8n, booking(event, slot), lambda: made(world, slot))

    world.normal()
    # Nobody has told the database, so it is the lease that ends.
    claims.end_leases(slot, event)
    n8n.start()
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(200, "booked"): 1}
    assert [answer.body["booking"]] == made(world, slot)


def kill_while(n8n, body, condition):
    sent = n8n.send("book-slot", [body])[0]
    wait_until(condition, "the run is where it is to die")
    n8n.kill()
    assert sent.result().status is None


def test_a_run_that_was_stopped_while_booking_is_found_when_the_event_comes_again(n8n, world, claims, slot, event):
    world.hold("calendar", "POST")
    sent = n8n.send("book-slot", [booking(event, slot)])[0]
    wait_until(lambda: bookings_under_way(world, slot), "the run is booking")
    stopped = n8n.executions("book-slot", status="running")[-1]["id"]
    n8n.stop_execution(stopped)
    assert sent.result().status == 500
    # Its call to the calendar goes on.
    world.open()
    wait_until(lambda: made(world, slot), "the calendar has booked it")

    # Retried, such a run begins anew, and finds its own earlier self.
    answer = node_output(n8n.retry(stopped), "Claim")["claim"]["after"]
    assert (answer["outcome"], answer["held_by"]) == ("wait", f"book-slot:{stopped}")
    claims.end_leases(slot, event)
    answer = n8n.post("book-slot", booking(event, slot))
    assert outcomes([answer]) == {(200, "booked"): 1}
    assert [answer.body["booking"]] == made(world, slot)


def without_error_output(n8n, error_workflow):
    """book-slot as somebody may have changed it: a run whose booking node fails, fails, and its list
    of executions offers to retry it."""
    workflow = json.loads((WORKFLOWS / "book-slot.json").read_text(encoding="utf-8"))
    path = f"book-slot-{'with' if error_workflow else 'without'}-error-workflow"
    nodes = {node["name"]: node for node in workflow["nodes"]}
    nodes["Webhook"] |= {"webhookId": path, "parameters": nodes["Webhook"]["parameters"] | {"path": path}}
    del nodes["Book"]["onError"]
    if not error_workflow:
        del workflow["settings"]["errorWorkflow"]
    return path, n8n.add({"name": path, "nodes": workflow["nodes"], "connections": workflow["connections"],
                          "settings": workflow["settings"]})


def test_a_run_retried_at_its_booking_node_books_while_it_still_holds_the_slot(n8n, world, claims, proxy, slot, event):
    path, workflow_id = without_error_output(n8n, error_workflow=False)
    proxy.drop_statement("require_slot", slot)
    assert n8n.post(path, booking(event, slot)).status == 500
    assert claims.slot(slot)["outcome"] == "claimed"

    failed = run_of(n8n, workflow_id, event)
    retried = n8n.retry(failed["id"])
    assert "Claim" in node_names(failed) and retried["id"] != failed["id"]
    assert node_output(retried, "Confirm")["done"]["ok"]
    assert len(made(world, slot)) == 1
    # It went on with the claim that it had: a new execution, and still the old holder.
    assert claims.slot(slot)["holder"] == f"{workflow_id}:{failed['id']}"
    assert claims.slot(slot)["outcome"] == "booked"


def test_a_run_retried_at_its_booking_node_is_stopped_by_the_fence_when_it_holds_nothing(n8n, world, claims, proxy, slot,
                                                                                         event):
    path, workflow_id = without_error_output(n8n, error_workflow=True)
    proxy.drop_statement("require_slot", slot)
    assert n8n.post(path, booking(event, slot)).status == 500
    wait_until(lambda: claims.slot(slot)["outcome"] == "review", "the error workflow has run")

    failed = run_of(n8n, workflow_id, event)
    retried = n8n.retry(failed["id"])
    assert "Confirm" not in node_names(retried)
    assert "not held" in str(retried["data"]["resultData"]["error"])
    assert bookings_under_way(world, slot) == []
    assert claims.slot(slot)["outcome"] == "review"


def test_a_booking_call_is_never_retried_behind_its_fence(n8n, world, claims, proxy, slot, event):
    # The fence is out of reach, so the run gives its claim back as one in doubt.
    proxy.drop_statement("require_slot", slot)
    assert outcomes([n8n.post("book-slot", booking(event, slot))]) == {(504, "unknown"): 1}
    fenced = run_of(n8n, "book-in-calendar", event)
    assert fenced["status"] == "error"
    n8n.retry(fenced["id"])
    assert bookings_under_way(world, slot) == []

    # Behind the fence nothing fails, so nothing can be retried there.
    world.lose("calendar", "POST")
    assert n8n.post("book-slot", booking(event, slot)).outcome == "unknown"
    booked = run_of(n8n, "book-in-calendar", "timeout of")
    assert booked["status"] == "success"
    with pytest.raises(AssertionError, match="cannot be retried"):
        n8n.retry(booked["id"])
    assert len(made(world, slot)) == 1


def test_a_calendar_that_cannot_be_read_books_nothing(n8n, world, claims, slot, event):
    world.refuse("calendar", "GET", status=500)
    assert outcomes([n8n.post("book-slot", booking(event, slot))]) == {(504, "unknown"): 1}
    assert bookings_under_way(world, slot) == []
    world.normal()
    assert n8n.post("book-slot", booking(event, slot)).outcome == "booked"
    assert len(made(world, slot)) == 1


def test_a_broken_request_is_told_what_was_wrong(n8n, world, claims, slot, event):
    answer = n8n.post("book-slot", {"event_id": event, "customer": "Ada"})
    assert outcomes([answer]) == {(400, "bad_request"): 1}
    assert "slot_id" in answer.body["message"] + answer.body["detail"]
    assert claims.key(event)["outcome"] == "absent"


def test_a_database_out_of_reach_is_told_as_such(n8n, world, claims, proxy, slot, event):
    proxy.drop_statement("begin_key", event, times=3)
    assert outcomes([n8n.post("book-slot", booking(event, slot))]) == {(503, "unavailable"): 1}
    assert n8n.post("book-slot", booking(event, slot)).outcome == "booked"
    assert len(made(world, slot)) == 1


def run_of(n8n, workflow_id, text):
    """The last finished execution of that workflow in whose data the text is."""
    def find():
        return [execution for execution in n8n.executions(workflow_id)
                if execution["stoppedAt"] and text in json.dumps(execution["data"])]
    return wait_until(find, f"there is an execution of {workflow_id} with {text}")[-1]


def node_names(execution):
    return set(execution["data"]["resultData"]["runData"])


def node_output(execution, node):
    """What the last run of that node gave to its first output."""
    return execution["data"]["resultData"]["runData"][node][-1]["data"]["main"][0][0]["json"]
