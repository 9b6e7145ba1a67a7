"""paid-webhook: one invoice with one number for a payment, however often it is sent, and no gap."""

import pytest

from harness.waiting import wait_until
from harness.world import most_at_once


@pytest.fixture(scope="session", autouse=True)
def series(databases, builder):
    builder("SELECT create_series('invoices', label => 'INV-{n:05}')")


@pytest.fixture
def payment(event):
    return {"payment_id": event, "amount": 120, "currency": "EUR"}


def invoices(world, payment):
    return world.made("invoices", "/invoices", payment_id=payment["payment_id"])


def numbers(claims):
    return [row["number"] for row in claims.rows("SELECT number FROM claims.numbers WHERE series = 'invoices' ORDER BY number")]


def assert_no_gap(claims):
    assert numbers(claims) == list(range(1, len(numbers(claims)) + 1))


def test_sent_three_times_at_once_and_once_more(n8n, world, claims, payment):
    world.hold("invoices", "POST")
    sent = n8n.send("paid", [payment] * 3)
    # Two are answered while the first is still at it.
    wait_until(lambda: sum(one.done() for one in sent) == 2 and world.requests("invoices", "POST", **payment), "two of three are answered")
    world.open()
    answers = sorted((one.result() for one in sent), key=lambda answer: answer.status)
    assert [(answer.status, answer.outcome) for answer in answers] == [(200, "done"), (503, "wait"), (503, "wait")]

    again = n8n.post("paid", payment)
    assert (again.status, again.outcome) == (200, "replay")
    assert again.body["result"] == answers[0].body["result"]
    [invoice] = invoices(world, payment)
    assert again.body["result"] == {"invoice": invoice["number"], "id": invoice["id"]}
    assert_no_gap(claims)


def test_thirty_at_once_are_numbered_without_a_gap(n8n, world, claims, event):
    payments = [{"payment_id": f"{event}-{n}", "amount": n, "currency": "EUR"} for n in range(30)]
    world.slow("invoices", "POST", 1)
    answers = n8n.post_all("paid", payments)
    # Whoever is told to send again does so, as a payment provider would.
    for payment, answer in zip(payments, answers):
        while answer.status == 503:
            answer = n8n.post("paid", payment)
        assert answer.status == 200, answer
    written = [invoice for payment in payments for invoice in invoices(world, payment)]
    assert len(written) == len({invoice["number"] for invoice in written}) == 30
    assert_no_gap(claims)
    assert most_at_once([(request.started_at, request.ended_at) for request in world.requests("invoices", "POST")]) > 5


def test_another_amount_for_the_same_payment(n8n, world, claims, payment):
    assert n8n.post("paid", payment).status == 200
    answer = n8n.post("paid", {**payment, "amount": 99})
    assert (answer.status, answer.outcome) == (422, "mismatch")
    assert len(invoices(world, payment)) == 1
    assert_no_gap(claims)


def test_refused_and_sent_again_it_keeps_its_number(n8n, world, claims, payment):
    world.refuse("invoices", "POST")
    assert [n8n.post("paid", payment).outcome for _ in range(2)] == ["failed", "failed"]
    world.normal()
    assert n8n.post("paid", payment).status == 200
    [invoice] = invoices(world, payment)
    assert [request.body["number"] for request in world.requests("invoices", "POST", **payment)] == [invoice["number"]] * 3
    assert_no_gap(claims)


def test_written_but_the_answer_was_lost(n8n, world, claims, payment):
    world.lose("invoices", "POST")
    lost = n8n.post("paid", payment)
    assert (lost.status, lost.outcome) == (503, "unknown")
    world.normal()
    again = n8n.post("paid", payment)
    assert (again.status, again.outcome) == (200, "done")
    [invoice] = invoices(world, payment)
    assert again.body["result"] == {"invoice": invoice["number"], "id": invoice["id"]}
    assert_no_gap(claims)
