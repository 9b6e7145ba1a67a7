"""One run of a workflow: a process and a database connection of its own.

A booking, where the subject is a slot, and the program outside is the calendar:

    look_then_book     look whether the slot is free, think, book     (what everybody writes first)
    claim_then_book    claim the slot, think, book, confirm           (the same with pg_claims)
    confirm_late       only the last step, as a run that comes back too late

A payment, where the subject is the event of a webhook, and the program outside is the payment:

    look_then_charge   look whether the event is new, think, charge   (what everybody writes first)
    charge_once        begin the key, think, charge, finish           (the same with pg_claims)

It prints "ready" when it is connected, waits for a line on its input, and does its steps.
What it ends with is one JSON object: what it saw and did, and the last answer of pg_claims.
"""

import argparse
import json
import sys
import time

from tools import Client, Database

# As long as a quick AI step takes to write its two sentences to the customer.
AI_STEP_S = 0.5


def look_then_book(run, db, calendar):
    [bookings] = db.query("SELECT count(*) FROM demo.bookings WHERE slot = %s", run.subject)
    if int(bookings) > 0:
        return {"saw_free": False}
    ai_step(run)
    calendar.add(slot=run.subject, run=run.holder)
    db.query("INSERT INTO demo.bookings VALUES (%s, %s)", run.subject, run.holder)
    return {"saw_free": True}


def claim_then_book(run, db, calendar):
    claim = claim_slot(run, db)
    if not claim["ok"]:
        return {"booked": False, "answer": claim}
    ai_step(run)
    calendar.add(slot=run.subject, run=run.holder)
    # The holder and the token that the claim answered, passed on as they are.
    confirm = db.ask("SELECT confirm_slot(%s, %s, %s)", run.subject, claim["holder"], claim["token"])
    return {"booked": True, "claim": claim, "answer": confirm}


def claim_slot(run, db):
    while True:
        asked = time.monotonic()
        claim = db.ask("SELECT claim_slot(%s, %s, ttl => %s, wait => %s)",
                       run.subject, run.holder, run.lease, run.wait)
        claim["took_s"] = time.monotonic() - asked
        if claim["outcome"] != "busy":
            return claim
        time.sleep(claim["retry_after_ms"] / 1000)


def confirm_late(run, db, _calendar):
    return {"booked": False,
            "answer": db.ask("SELECT confirm_slot(%s, %s, %s)", run.subject, run.holder, run.token)}


def look_then_charge(run, db, payment):
    [charges] = db.query("SELECT count(*) FROM demo.charges WHERE event = %s", run.subject)
    if int(charges) > 0:
        return {"saw_new": False}
    ai_step(run)
    payment.add(event=run.subject, run=run.holder)
    db.query("INSERT INTO demo.charges VALUES (%s, %s)", run.subject, run.holder)
    return {"saw_new": True}


def charge_once(run, db, payment):
    began = begin_key(run, db)
    found = []
    if began["outcome"] == "verify":
        # An earlier run never came back. What it did, only the payment itself knows.
        found = payment.find(event=run.subject)
    elif not began["ok"]:
        return {"answer": began}
    if found:
        charge = found[0]
    else:
        ai_step(run)
        charge = payment.add(event=run.subject, run=run.holder)
    reach(run, "charged")
    finish = db.ask("SELECT finish_key(%s, %s, %s, result => %s)",
                    run.subject, began["holder"], began["token"], json.dumps({"charge": charge["id"]}))
    return {"began": began, "found": found, "answer": finish}


def begin_key(run, db):
    asked = time.monotonic()
    while True:
        began = db.ask("SELECT begin_key(%s, %s, lease => %s)", run.subject, run.holder, run.lease)
        began["took_s"] = time.monotonic() - asked
        if began["outcome"] != "wait" or not run.patient:
            return began
        time.sleep(began["retry_after_ms"] / 1000)


def ai_step(run):
    reach(run, "thinking")
    time.sleep(AI_STEP_S)


def reach(run, place):
    """A place where a run can be told to hang: it says so, and never goes on."""
    if run.hang_at == place:
        print(place, flush=True)
        time.sleep(3600)


STEPS = {
    "look_then_book": look_then_book,
    "claim_then_book": claim_then_book,
    "confirm_late": confirm_late,
    "look_then_charge": look_then_charge,
    "charge_once": charge_once,
}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("steps", choices=STEPS)
    options.add_argument("--subject", required=True, help="the slot, or the event")
    options.add_argument("--holder", required=True)
    options.add_argument("--port", required=True, help="of the program outside")
    options.add_argument("--lease", default="5 min", help="of the claim or the key")
    options.add_argument("--wait", default="0", help="how long to wait for a slot that is claimed")
    options.add_argument("--patient", action="store_true", help="told to wait for a key, ask again when it is time")
    options.add_argument("--token", help="for confirm_late")
    options.add_argument("--hang-at", choices=["thinking", "charged"], help="where the run never goes on")
    run = options.parse_args()

    db, outside = Database(), Client(run.port)
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(STEPS[run.steps](run, db, outside)), flush=True)


main()
