"""n8n is killed while three workflows are at their side effects, and started again."""

import pytest

from harness.waiting import wait_until


@pytest.mark.parametrize("the_world", ["hold", "lose"])
def test_each_is_done_once_when_it_comes_again(n8n, world, claims, builder, event, the_world):
    builder("SELECT create_series('invoices', label => 'INV-{n:05}')")
    n8n.publish("exclusive-run")
    lamp, payment_id = f"lamp {event}", f"{event}-payment"
    claims.value("SELECT set_capacity(%s::text, 1)", lamp)
    requests = [("paid", {"payment_id": payment_id, "amount": 1, "currency": "EUR"}),
                ("shop-order", {"order_id": event, "item": lamp, "amount": 1}),
                ("exclusive-run", {"steps": [event]})]
    # Either it has not been done when n8n dies, or it has.
    for host in ("invoices", "payments", "work"):
        getattr(world, the_world)(host, "POST")
    sent = [n8n.send(path, [body])[0] for path, body in requests]
    for host, fields in (("invoices", {"payment_id": payment_id}), ("payments", {"key": f"Shop order:{event}"}), ("work", {"step": event})):
        wait_until(lambda: world.requests(host, "POST", **fields), f"{host} is asked")
    n8n.kill()
    assert [one.result().status for one in sent] == [None] * 3

    world.normal()
    n8n.start()
    # n8n finds the runs that it did not finish, and starts the error workflow for them.
    for key in (f"invoice:{payment_id}", f"Shop order:{event}"):
        wait_until(lambda: claims.key(key)["outcome"] == "overdue", "the error workflow has run")
    assert claims.slot(lamp)["outcome"] == "insufficient"
    assert [n8n.post(path, body).status for path, body in requests] == [200, 200, 200]
    assert len(world.made("invoices", "/invoices", payment_id=payment_id)) == 1
    assert len(world.made("payments", "/charges", key=f"Shop order:{event}")) == 1
    assert claims.value("SELECT taken FROM claims.pools WHERE slot_id = %s", lamp) == 1
    assert [run["status"] for run in claims.history("run:exclusive-run")[-2:]] == ["released", "released"]
