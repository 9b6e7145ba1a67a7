"""Two runs that want the same two slots, in opposite order: nobody waits for ever, and nobody has half."""

from harness.sketch import a_workflow

CLAIM_EACH = """
SELECT claim_slot($1::text, $2::text, note => jsonb_build_object('position', $3::integer)) AS claim
"""
CLAIM_BOTH = """
SELECT claim_many(jsonb_build_array(jsonb_build_object('slot_id', $1::text), jsonb_build_object('slot_id', $2::text)),
                  $3::text) AS claim
"""


def test_two_claims_in_one_transaction_do_not_deadlock(n8n, claims, proxy, slot):
    n8n.add(a_workflow("two-slots-each", CLAIM_EACH, "[ $json.slot, $workflow.id + ':' + $execution.id, $itemIndex ]",
                       "transaction"))
    one, other = f"{slot} one", f"{slot} other"
    # Each has its first slot before either asks for its second, with its transaction open.
    held = proxy.hold("claim_slot", slot, "'position', 1", until=2)
    answers = n8n.post_all("two-slots-each", [{"items": [one, other]}, {"items": [other, one]}])
    assert [answer.status for answer in answers] == [200, 200]
    assert held.hits == 2
    firsts, seconds = zip(*[[item["claim"]["outcome"] for item in answer.body] for answer in answers])
    assert firsts == ("claimed", "claimed")
    # Whoever gives up first is told busy. By then the other may see what was committed.
    assert "busy" in seconds and set(seconds) <= {"busy", "taken"}
    assert claims.slot(one)["holder"] != claims.slot(other)["holder"]


def test_claim_many_gives_both_to_one(n8n, claims, proxy, slot):
    n8n.add(a_workflow("two-slots-many", CLAIM_BOTH,
                       "[ $json.slot[0], $json.slot[1], $workflow.id + ':' + $execution.id ]"))
    for turn in range(5):
        one, other = f"{slot} one {turn}", f"{slot} other {turn}"
        held = proxy.hold("claim_many", one, until=2)
        answers = n8n.post_all("two-slots-many", [{"items": [[one, other]]}, {"items": [[other, one]]}])
        assert held.hits == 2
        assert sorted(answer.body[0]["claim"]["outcome"] for answer in answers) == ["claimed", "taken"]
        assert claims.slot(one)["holder"] == claims.slot(other)["holder"]
