"""Waiting for something to become true. The bounds are for a machine that is very slow."""

import time

PATIENCE_S = 180


def wait_until(condition, what, seconds=PATIENCE_S):
    """The first true value of condition()."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s still not so: {what}")
        time.sleep(0.05)
    return value
