"""One run of a booking workflow: a process and a database connection of its own.

    look_then_book     look whether the slot is free, think, book     (what everybody writes first)
    claim_then_book    claim the slot, think, book, confirm           (the same with pg_claims)
    confirm_late       only the last step, as a run that comes back too late

It prints "ready" when it is connected, waits for a line on its input, and does its steps.
What it ends with is one JSON object: `saw_free`, `booked`, and the last answer of pg_claims.
"""

import argparse
import json
import sys
import time

from tools import Calendar, Database

# As long as a quick AI step takes to write its two sentences to the customer.
AI_STEP_S = 0.5


def look_then_book(run, db, calendar):
    [bookings] = db.query("SELECT count(*) FROM demo.bookings WHERE slot = %s", run.slot)
    if int(bookings) > 0:
        return {"saw_free": False, "booked": False}
    ai_step(run)
    calendar.book(run.slot, run.holder)
    db.query("INSERT INTO demo.bookings VALUES (%s, %s)", run.slot, run.holder)
    return {"saw_free": True, "booked": True}


def claim_then_book(run, db, calendar):
    claim = claim_slot(run, db)
    if not claim["ok"]:
        return {"booked": False, "answer": claim}
    ai_step(run)
    calendar.book(run.slot, run.holder)
    # The holder and the token that the claim answered, passed on as they are.
    confirm = db.ask("SELECT confirm_slot(%s, %s, %s)", run.slot, claim["holder"], claim["token"])
    return {"booked": True, "claim": claim, "answer": confirm}


def claim_slot(run, db):
    while True:
        asked = time.monotonic()
        claim = db.ask("SELECT claim_slot(%s, %s, ttl => %s, wait => %s)",
                       run.slot, run.holder, run.ttl, run.wait)
        claim["took_s"] = time.monotonic() - asked
        if claim["outcome"] != "busy":
            return claim
        time.sleep(claim["retry_after_ms"] / 1000)


def confirm_late(run, db, _calendar):
    return {"booked": False,
            "answer": db.ask("SELECT confirm_slot(%s, %s, %s)", run.slot, run.holder, run.token)}


def ai_step(run):
    if run.hang:
        print("thinking", flush=True)
        time.sleep(3600)
    time.sleep(AI_STEP_S)


STEPS = {
    "look_then_book": look_then_book,
    "claim_then_book": claim_then_book,
    "confirm_late": confirm_late,
}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("steps", choices=STEPS)
    options.add_argument("--slot", required=True)
    options.add_argument("--holder", required=True)
    options.add_argument("--calendar", required=True, help="the port of the calendar")
    options.add_argument("--ttl", default="5 min", help="how long the claim lives unconfirmed")
    options.add_argument("--wait", default="0", help="how long to wait for a slot that is claimed")
    options.add_argument("--token", help="for confirm_late")
    options.add_argument("--hang", action="store_true", help="never come back from the AI step")
    run = options.parse_args()

    db, calendar = Database(), Calendar(run.calendar)
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(STEPS[run.steps](run, db, calendar)), flush=True)


main()
