"""book-slot: of any number of requests for one slot, one is booked, and each caller is told."""


def test_one_request_is_booked(n8n, world, claims, slot, event):
    answer = n8n.post("book-slot", {"event_id": event, "slot": slot, "customer": "Ada"})
    assert (answer.status, answer.outcome) == (200, "booked")
    assert len(world.made("calendar", "/bookings", slot=slot)) == 1
    assert claims.slot(slot)["outcome"] == "booked"
    assert claims.key(event)["outcome"] == "done"
