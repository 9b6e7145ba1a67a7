"""reconcile: what is in doubt is settled by what the calendar says, and by nothing else."""

from contextlib import contextmanager

from harness.booking import booking, made
from harness.waiting import wait_until


@contextmanager
def reconcile(n8n):
    n8n.publish("reconcile")
    try:
        yield
    finally:
        n8n.unpublish("reconcile")


def test_what_timed_out_is_settled_as_the_calendar_says(n8n, world, claims, slot, event):
    booked, lost = f"{slot} booked", f"{slot} lost"
    # The calendar books, and does not say so.
    world.lose("calendar", "POST")
    assert n8n.post("book-slot", booking(f"{event}-booked", booked)).status == 504
    # The calendar does not book, and does not say so.
    world.hold("calendar", "POST")
    assert n8n.post("book-slot", booking(f"{event}-lost", lost)).status == 504
    world.normal()
    assert [claims.slot(each)["outcome"] for each in (booked, lost)] == ["review", "review"]

    for each in (booked, lost):
        claims.let_a_minute_pass(each)
    with reconcile(n8n):
        wait_until(lambda: not claims.rows("SELECT FROM claims.needs_check WHERE slot_id IN (%s, %s)", booked, lost),
                   "reconcile has looked")
    assert claims.slot(booked)["outcome"] == "booked"
    assert claims.key(f"{event}-booked")["outcome"] == "done"
    assert claims.slot(lost)["outcome"] == "free"
    assert claims.key(f"{event}-lost")["outcome"] == "failed"
    assert len(made(world, booked)) == 1
    assert made(world, lost) == []

    # Whoever asks again is told; what was not booked is booked now.
    answer = n8n.post("book-slot", booking(f"{event}-booked", booked))
    assert (answer.status, answer.outcome) == (200, "booked")
    assert [answer.body["booking"]] == made(world, booked)
    assert n8n.post("book-slot", booking(f"{event}-lost", lost)).outcome == "booked"
    assert len(made(world, lost)) == 1
