"""Two runs that want the same two slots, in opposite order: nobody waits for ever, and nobody has half."""

CLAIM_EACH = """
SELECT claim_slot($1::text, $2::text, note => jsonb_build_object('position', $3::integer)) AS claim
"""
CLAIM_BOTH = """
SELECT claim_many(jsonb_build_array(jsonb_build_object('slot_id', $1::text), jsonb_build_object('slot_id', $2::text)),
                  $3::text) AS claim
"""


def workflow(name, nodes):
    """A webhook, the nodes one after the other, and the items of the last as the answer."""
    webhook = {"name": "Webhook", "type": "n8n-nodes-base.webhook", "typeVersion": 2.1, "webhookId": name,
               "parameters": {"httpMethod": "POST", "path": name, "responseMode": "lastNode",
                              "responseData": "allEntries", "options": {}}}
    chain = [webhook, *nodes]
    return {
        "name": name,
        "nodes": [{**node, "id": node["name"], "position": [200 * n, 0]} for n, node in enumerate(chain)],
        "connections": {one["name"]: {"main": [[{"node": other["name"], "type": "main", "index": 0}]]}
                        for one, other in zip(chain, chain[1:])},
        "settings": {"executionOrder": "v1"},
    }


def postgres(query, parameters, **options):
    return {"name": "Claim", "type": "n8n-nodes-base.postgres", "typeVersion": 2.6,
            "parameters": {"operation": "executeQuery", "query": query,
                           "options": {"queryReplacement": parameters, **options}},
            "credentials": {"postgres": {"id": "pg_claims", "name": "pg_claims"}}}


def split_out():
    return {"name": "Split Out", "type": "n8n-nodes-base.splitOut", "typeVersion": 1,
            "parameters": {"fieldToSplitOut": "body.slots", "options": {"destinationFieldName": "slot"}}}


def test_two_claims_in_one_transaction_do_not_deadlock(n8n, claims, proxy, slot):
    n8n.add(workflow("two-slots-each", [split_out(), postgres(
        CLAIM_EACH, "={{ [ $json.slot, $workflow.id + ':' + $execution.id, $itemIndex ] }}",
        queryBatching="transaction")]))
    one, other = f"{slot} one", f"{slot} other"
    # Each has its first slot before either asks for its second, with its transaction open.
    held = proxy.hold("claim_slot", slot, "'position', 1", until=2)
    answers = n8n.post_all("two-slots-each", [{"slots": [one, other]}, {"slots": [other, one]}])
    assert [answer.status for answer in answers] == [200, 200]
    assert held.hits == 2
    # Whoever gives up first is told busy. By then the other may see what was committed.
    seconds = [answer.body[1]["claim"]["outcome"] for answer in answers]
    assert "busy" in seconds and set(seconds) <= {"busy", "taken"}
    assert [answer.body[0]["claim"]["outcome"] for answer in answers] == ["claimed", "claimed"]
    assert claims.slot(one)["holder"] != claims.slot(other)["holder"]


def test_claim_many_gives_both_to_one(n8n, claims, proxy, slot):
    n8n.add(workflow("two-slots-many", [postgres(
        CLAIM_BOTH, "={{ [ $json.body.slots[0], $json.body.slots[1], $workflow.id + ':' + $execution.id ] }}")]))
    for turn in range(5):
        one, other = f"{slot} one {turn}", f"{slot} other {turn}"
        held = proxy.hold("claim_many", one, until=2)
        answers = n8n.post_all("two-slots-many", [{"slots": [one, other]}, {"slots": [other, one]}])
        assert held.hits == 2
        assert sorted(answer.body[0]["claim"]["outcome"] for answer in answers) == ["claimed", "taken"]
        assert claims.slot(one)["holder"] == claims.slot(other)["holder"]
