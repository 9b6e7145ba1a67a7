"""book-tool, called by a real AI Agent node: the agent decides, the workflow commits."""

import json
from pathlib import Path

import pytest

from harness.booking import made
from harness.waiting import wait_until


@pytest.fixture(scope="module", autouse=True)
def agent(whole_n8n):
    workflow = json.loads((Path(__file__).parent / "agent.json").read_text(encoding="utf-8"))
    return whole_n8n.add(workflow)


def chat(event):
    return {"sessionId": event, "text": "A room, please."}


def test_the_agent_calls_twice_in_one_message(n8n, world, claims, model, slot, event):
    call = {"slot": slot, "guest": "Ann"}
    model.says([call, call], "done")
    assert n8n.post("agent", chat(event)).status == 200
    assert len(model.tool_answers) == 2
    [booking] = made(world, slot)
    assert {"message": "The slot is booked.",
            "facts": {"booked": True, "outcome": "confirmed", "slot": slot, "guest": "Ann", "booking": booking["id"]}} in model.tool_answers
    [other] = [answer for answer in model.tool_answers if answer["facts"]["outcome"] != "confirmed"]
    assert other["facts"]["outcome"] in ("wait", "replay")


def test_the_agent_calls_again_after_the_answer(n8n, world, claims, model, slot, event):
    call = {"slot": slot, "guest": "Ann"}
    model.says([call], [call], "done")
    assert n8n.post("agent", chat(event)).status == 200
    [booking] = made(world, slot)
    facts = [answer["facts"] for answer in model.tool_answers]
    assert [(fact["booked"], fact["outcome"], fact["booking"]) for fact in facts] == [
        (True, "confirmed", booking["id"]), (True, "replay", booking["id"])]


def test_two_conversations_want_one_slot(n8n, world, claims, model, slot, event):
    model.says([{"slot": slot, "guest": "Ann"}], "done")
    world.hold("calendar", "POST")
    sent = n8n.send("agent", [chat(f"{event}-1"), chat(f"{event}-2")])
    wait_until(lambda: len(model.tool_answers) == 1, "one of them is told")
    world.open()
    assert [one.result().status for one in sent] == [200, 200]
    assert sorted(answer["facts"]["outcome"] for answer in model.tool_answers) == ["confirmed", "taken"]
    assert len(made(world, slot)) == 1


def test_another_guest_in_the_same_conversation(n8n, world, claims, model, slot, event):
    model.says([{"slot": slot, "guest": "Ann"}], [{"slot": slot, "guest": "Bob"}], "done")
    assert n8n.post("agent", chat(event)).status == 200
    assert [answer["facts"]["outcome"] for answer in model.tool_answers] == ["confirmed", "mismatch"]
    assert [booking["customer"] for booking in made(world, slot)] == ["Ann"]


def test_refused_by_the_calendar(n8n, world, claims, model, slot, event):
    call = {"slot": slot, "guest": "Ann"}
    world.refuse("calendar", "POST")
    model.says([call], "sorry")
    assert n8n.post("agent", chat(event)).status == 200
    [answer] = model.tool_answers
    assert (answer["facts"]["booked"], answer["facts"]["outcome"]) == (False, "released")
    assert claims.slot(slot)["ok"]
    world.normal()
    model.says([call], "done")
    n8n.post("agent", chat(event))
    assert [answer["facts"]["outcome"] for answer in model.tool_answers] == ["confirmed"]
    assert len(made(world, slot)) == 1


def test_booked_but_the_answer_was_lost(n8n, world, claims, model, slot, event):
    call = {"slot": slot, "guest": "Ann"}
    world.lose("calendar", "POST")
    model.says([call], "I do not know")
    n8n.post("agent", chat(event))
    assert [answer["facts"]["outcome"] for answer in model.tool_answers] == ["review"]
    world.normal()
    model.says([call], "done")
    n8n.post("agent", chat(event))
    [booking] = made(world, slot)
    assert [(answer["facts"]["outcome"], answer["facts"]["booking"]) for answer in model.tool_answers] == [("confirmed", booking["id"])]
