"""The traps of n8n's Postgres node: what a workflow of anybody's own can count on."""

import pytest

from harness.sketch import a_workflow

MODES = ["single", "independently", "transaction"]


CLAIM = "SELECT claim_slot($1::text, $2::text) AS claim"
PARAMETERS = "[ $json.slot, $workflow.id + ':' + $execution.id ]"


@pytest.fixture(scope="module", params=MODES)
def mode(request, whole_n8n):
    whole_n8n.add(a_workflow(f"mode-{request.param}", CLAIM, PARAMETERS, request.param))
    whole_n8n.add(a_workflow(f"mode-{request.param}-goes-on", CLAIM, PARAMETERS, request.param, onError="continueRegularOutput"))
    return request.param


def test_a_taken_slot_is_one_item_like_any_other(n8n, claims, mode, slot):
    claims.value("SELECT claim_slot(%s::text, 'another')", f"{slot} b")
    answer = n8n.post(f"mode-{mode}", {"items": [f"{slot} a", f"{slot} b", f"{slot} c"]})
    assert answer.status == 200
    assert [(item["claim"]["slot_id"], item["claim"]["outcome"]) for item in answer.body] == [
        (f"{slot} a", "claimed"), (f"{slot} b", "taken"), (f"{slot} c", "claimed")]


def test_what_one_bad_item_does_to_the_others(n8n, claims, mode, slot):
    answer = n8n.post(f"mode-{mode}-goes-on", {"items": [f"{slot} a", "undefined", f"{slot} c"]})
    assert answer.status == 200
    claimed = [suffix for suffix in "ac" if not claims.slot(f"{slot} {suffix}")["ok"]]
    # Only one by one do the good ones stand.
    assert claimed == (["a", "c"] if mode == "independently" else [])


def test_a_bad_parameter_shows_our_detail(n8n, claims, mode):
    answer = n8n.post(f"mode-{mode}-goes-on", {"items": ["undefined"]})
    [item] = answer.body
    assert item["error"]["description"] == "This slot_id is what a broken expression leaves behind; every request would share it."


def test_retry_on_fail_does_not_repeat_an_answer(n8n, claims, builder, slot):
    builder("CREATE SEQUENCE calls")
    # Counted by a sequence, which no rollback takes back.
    n8n.add(a_workflow("retry", "SELECT nextval('calls') AS call, claim_slot($1::text, $2::text) AS claim", PARAMETERS,
                       retryOnFail=True, maxTries=3, waitBetweenTries=100))
    claims.value("SELECT claim_slot(%s::text, 'another')", slot)
    [item] = n8n.post("retry", {"items": [slot]}).body
    assert item["claim"]["outcome"] == "taken"
    assert claims.value("SELECT last_value FROM calls") == 1
    # An error it does repeat: so the one call above is no matter of settings.
    assert n8n.post("retry", {"items": ["undefined"]}).status == 500
    assert claims.value("SELECT last_value FROM calls") == 4
