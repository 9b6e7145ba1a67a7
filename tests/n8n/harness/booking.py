"""What the stories of bookings have in common."""


def booking(event, slot, **more):
    """What a customer sends."""
    return {"event_id": event, "slot": slot, "customer": "Ada", **more}


def made(world, slot):
    """The bookings that are really in the calendar."""
    return world.made("calendar", "/bookings", slot=slot)


def bookings_under_way(world, slot):
    """The requests to book, made or not."""
    return world.requests("calendar", "POST", "/bookings", slot=slot)
