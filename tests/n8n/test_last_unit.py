"""last-unit: two channels sell one stock, and the last unit is sold once."""

import pytest

from harness.waiting import wait_until
from harness.world import most_at_once


@pytest.fixture
def lamp(claims, event):
    """An item of which there is one."""
    item = f"lamp {event}"
    assert claims.value("SELECT set_capacity(%s::text, 1)", item)["ok"]
    return item


@pytest.fixture
def order(lamp, event):
    return {"order_id": event, "item": lamp, "amount": 80}


def charges(world, key):
    return world.made("payments", "/charges", key=key)


def taken(claims, item):
    return claims.value("SELECT taken FROM claims.pools WHERE slot_id = %s", item)


def test_twenty_orders_in_two_channels(n8n, world, claims, lamp, event):
    world.slow("payments", "POST", 1)
    orders = [{"order_id": f"{event}-{n}", "item": lamp, "amount": 80} for n in range(20)]
    sent = n8n.send("shop-order", orders[:10]) + n8n.send("market-order", orders[10:])
    answers = [one.result() for one in sent]
    assert sorted(answer.status for answer in answers) == [200] + [409] * 19
    assert {answer.outcome for answer in answers if answer.status == 409} == {"insufficient"}
    assert len([charge for request in world.requests("payments", "POST") for charge in request.made
                if charge["key"].split(":")[1] in {order["order_id"] for order in orders}]) == 1
    assert taken(claims, lamp) == 1
    assert most_at_once([(answer.sent_at, answer.answered_at) for answer in answers]) > 10


def test_one_order_three_times_at_once_and_once_more(n8n, world, claims, lamp, order):
    claims.value("SELECT set_capacity(%s::text, 3)", lamp)
    world.hold("payments", "POST")
    sent = n8n.send("shop-order", [order] * 3)
    wait_until(lambda: sum(one.done() for one in sent) == 2, "two of three are answered")
    world.open()
    answers = sorted((one.result() for one in sent), key=lambda answer: answer.status)
    assert [(answer.status, answer.outcome) for answer in answers] == [(200, "confirmed"), (409, "wait"), (409, "wait")]
    again = n8n.post("shop-order", order)
    [charge] = charges(world, f"Shop order:{order['order_id']}")
    assert (again.status, again.outcome, again.body["result"]) == (200, "replay", {"charge": charge["id"]})
    assert taken(claims, lamp) == 1


def test_refused_by_the_payment(n8n, world, claims, lamp, order):
    world.refuse("payments", "POST", status=402)
    answer = n8n.post("shop-order", order)
    assert (answer.status, answer.outcome) == (402, "failed")
    assert taken(claims, lamp) == 0
    world.normal()
    assert n8n.post("market-order", order).status == 200
    assert n8n.post("shop-order", order).status == 409
    assert charges(world, f"Shop order:{order['order_id']}") == []


def test_charged_but_the_answer_was_lost(n8n, world, claims, lamp, order):
    world.lose("payments", "POST")
    lost = n8n.post("shop-order", order)
    assert (lost.status, lost.outcome) == (503, "unknown")
    # Nobody else gets the unit meanwhile.
    assert n8n.post("market-order", order).outcome == "insufficient"
    world.normal()
    again = n8n.post("shop-order", order)
    assert (again.status, again.outcome) == (200, "confirmed_late")
    assert len(charges(world, f"Shop order:{order['order_id']}")) == 1
    assert [row["status"] for row in claims.history(lamp)] == ["booked"]


def test_nobody_knows_and_it_was_not_charged(n8n, world, claims, lamp, order):
    world.hold("payments", "POST")
    lost = n8n.post("shop-order", order)
    assert (lost.status, lost.outcome) == (503, "unknown")
    world.normal()
    again = n8n.post("shop-order", order)
    assert (again.status, again.outcome) == (200, "confirmed")
    assert len(charges(world, f"Shop order:{order['order_id']}")) == 1
    assert [row["status"] for row in claims.history(lamp)] == ["released", "booked"]
