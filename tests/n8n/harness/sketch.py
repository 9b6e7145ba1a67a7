"""Workflows that only the tests know."""

import uuid


def a_workflow(path, query, parameters, mode="single", **of_the_node):
    """A webhook that gives each of the body's `items` to a Postgres node, and answers what comes out of it."""
    postgres = {
        "name": "Postgres", "id": str(uuid.uuid4()), "type": "n8n-nodes-base.postgres", "typeVersion": 2.6, "position": [440, 0],
        "parameters": {"operation": "executeQuery", "query": query,
                       "options": {"queryBatching": mode, "queryReplacement": f"={{{{ {parameters} }}}}"}},
        "credentials": {"postgres": {"id": "pg_claims", "name": "pg_claims"}}, **of_the_node}
    webhook = {
        "name": "Webhook", "id": str(uuid.uuid4()), "webhookId": str(uuid.uuid4()), "type": "n8n-nodes-base.webhook",
        "typeVersion": 2.1, "position": [0, 0],
        "parameters": {"httpMethod": "POST", "path": path, "responseMode": "lastNode", "responseData": "allEntries", "options": {}}}
    split = {
        "name": "Items", "id": str(uuid.uuid4()), "type": "n8n-nodes-base.splitOut", "typeVersion": 1, "position": [220, 0],
        "parameters": {"fieldToSplitOut": "body.items", "options": {"destinationFieldName": "slot"}}}
    return {
        "name": path, "nodes": [webhook, split, postgres], "settings": {"executionOrder": "v1"},
        "connections": {"Webhook": {"main": [[{"node": "Items", "type": "main", "index": 0}]]},
                        "Items": {"main": [[{"node": "Postgres", "type": "main", "index": 0}]]}}}
