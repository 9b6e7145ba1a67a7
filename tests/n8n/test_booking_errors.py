"""booking-errors: a run that fails leaves nothing behind that nobody looks at."""

from harness.booking import booking, made
from harness.waiting import wait_until


def test_a_run_that_fails_after_the_booking_goes_into_review(n8n, world, claims, proxy, slot, event):
    lost = proxy.drop_statement("finish_key", event, times=3)
    answer = n8n.post("book-slot", booking(event, slot))
    assert answer.status == 500
    assert lost.hits == 3
    wait_until(lambda: claims.slot(slot)["outcome"] == "review", "the error workflow has run")
    assert claims.key(event)["outcome"] == "overdue"
    assert n8n.executions("book-slot")[-1]["status"] == "error"

    again = n8n.post("book-slot", booking(event, slot))
    assert (again.status, again.outcome) == (200, "booked")
    assert [again.body["booking"]] == made(world, slot)
