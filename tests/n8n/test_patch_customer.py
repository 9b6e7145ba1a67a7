"""patch-customer: two writers, one row, and no change is lost."""

from urllib.parse import urlsplit

import psycopg
import pytest

from harness import database
from harness.waiting import wait_until
from harness.world import most_at_once


@pytest.fixture(scope="session", autouse=True)
def table(databases, builder):
    builder("CREATE TABLE customers (id int PRIMARY KEY, name text, plan text, email text, tags jsonb NOT NULL DEFAULT '[]')")
    builder("SELECT track_rows('customers')")


@pytest.fixture
def customer(claims):
    """The id of a new customer."""
    return claims.value("INSERT INTO customers SELECT coalesce(max(id), 0) + 1, 'Ann', 'free', 'ann@old.example' "
                        "FROM customers RETURNING id")


def row(claims, customer):
    return claims.row("SELECT name, plan, email, tags FROM customers WHERE id = %s", customer)


def test_both_changes_survive(n8n, claims, customer):
    answers = n8n.post_all("patch-customer", [
        {"id": customer, "set": {"plan": "pro"}, "by": "billing"},
        {"id": customer, "set": {"email": "ann@new.example"}, "by": "form"}])
    assert [answer.status for answer in answers] == [200, 200]
    assert row(claims, customer) == {"name": "Ann", "plan": "pro", "email": "ann@new.example", "tags": []}


def test_twenty_add_to_one_list_at_once(n8n, claims, customer):
    changes = [{"id": customer, "tags": [f"tag-{n}"], "by": f"form-{n}"} for n in range(20)]
    answers = n8n.post_all("patch-customer", changes)
    assert most_at_once([(answer.sent_at, answer.answered_at) for answer in answers]) > 10
    for change, answer in zip(changes, answers):
        while answer.outcome == "busy":
            answer = n8n.post("patch-customer", change)
        assert answer.status == 200, answer
    assert sorted(row(claims, customer)["tags"]) == sorted(f"tag-{n}" for n in range(20))


def conflict(n8n, claims, customer):
    """Sales has read the row, and waits for it; billing has it, and makes the plan pro."""
    with psycopg.connect(dbname=database.CLAIMS) as billing:
        billing.execute("UPDATE customers SET plan = 'pro' WHERE id = %s", (customer,))
        [sent] = n8n.send("patch-customer", [{"id": customer, "set": {"plan": "team"}, "by": "sales"}])
        wait_until(lambda: claims.rows("SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT patch_row(%%'"),
                   "sales patches")
    return sent.result()


@pytest.mark.parametrize("decision, outcome, plan", [("what is wanted", "applied", "team"), ("what is there", "kept", "pro")])
def test_a_person_decides_what_cannot_both_be_true(n8n, claims, customer, decision, outcome, plan):
    answer = conflict(n8n, claims, customer)
    assert (answer.status, answer.outcome) == (202, "conflict")
    assert row(claims, customer)["plan"] == "pro"
    form = urlsplit(answer.body["decide_at"])
    # The caller is told of the form a moment before it is there.
    execution = int(form.path.split("/")[-1])
    wait_until(lambda: n8n.own.value("SELECT status FROM execution_entity WHERE id = %s", execution) == "waiting", "the form is there")
    page = n8n.client.get(f"{form.path}?{form.query}")
    assert "team" in page.text
    decided = n8n.client.post(f"{form.path}?{form.query}", files={"field-0": (None, decision)})
    assert decided.json()["outcome"] == outcome
    assert row(claims, customer)["plan"] == plan


def test_there_is_no_such_customer(n8n, claims):
    answer = n8n.post("patch-customer", {"id": 0, "set": {"plan": "pro"}, "by": "billing"})
    assert (answer.status, answer.outcome) == (404, "absent")
