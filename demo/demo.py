"""The race for one slot, the webhook that comes three times, and the end of both.

Every run below is a process of its own with its own database connection (run.py). The calendar and
the payment are two more processes (calendar_app.py, payment_app.py), and every number of bookings or
charges is counted in that process's log.
The demo ends with status 1 if anything that pg_claims promises did not hold.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from tools import Database

HERE = Path(__file__).parent
RUNS = 20
DELIVERIES = 3
SHORT_LEASE_S = 2


class Demo:
    def __init__(self, logs):
        self.db = Database()
        self.broken = []
        # A day of its own for each time the demo is shown, since what is booked stays booked.
        self.shown = datetime.now().strftime("%m%d-%H%M%S")
        mark = f"{self.shown}-{os.getpid()}"
        self.calendar = App("calendar_app.py", logs / f"calendar-{mark}.log")
        self.payment = App("payment_app.py", logs / f"payment-{mark}.log")

    def slot(self, name):
        return f"{name} 15:00 ({self.shown})"

    def event(self, name):
        return f"{name} ({self.shown})"

    def booking(self, steps, slot, holder, *options):
        return Run([steps, "--subject", slot, "--holder", holder, "--port", self.calendar.port, *options])

    def payment_run(self, steps, event, holder, *options):
        return Run([steps, "--subject", event, "--holder", holder, "--port", self.payment.port, *options])

    def bookings(self, slot):
        """Who booked the slot."""
        return [entry["run"] for entry in self.calendar.entries() if entry["slot"] == slot]

    def charges(self, event):
        return [entry for entry in self.payment.entries() if entry["event"] == event]

    def promise(self, what, kept):
        if not kept:
            self.broken.append(what)

    def close(self):
        self.calendar.process.terminate()
        self.payment.process.terminate()


class App:
    """A program outside of the database, with its log."""

    def __init__(self, program, log):
        self.log = log
        self.log.touch()
        self.process = subprocess.Popen([sys.executable, HERE / program, log], stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().strip()

    def entries(self):
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


class Run:
    def __init__(self, arguments):
        self.process = subprocess.Popen([sys.executable, HERE / "run.py", *arguments], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def until(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise SystemExit(f"a run said {line!r} instead of {word!r}")

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def result(self):
        return json.loads(self.process.communicate()[0])

    def result_at_once(self):
        self.until("ready")
        self.go()
        return self.result()

    def die_at(self, place):
        """kill -9, as soon as it gets there."""
        self.until("ready")
        self.go()
        self.until(place)
        self.process.kill()
        self.process.communicate()


def race(runs):
    """All of them are connected and ready before the first of them starts."""
    for run in runs:
        run.until("ready")
    for run in runs:
        run.go()
    return [run.result() for run in runs]


# --- one slot --------------------------------------------------------------------------------


def look_then_book(demo):
    title(f"1. Look, then book: {RUNS} runs want one slot")
    text("Each looks into the bookings table, finds 15:00 free or not, thinks for half a",
         "second as an AI step does, books it in the calendar and writes it down.")
    slot = demo.slot("Monday")
    results = race([demo.booking("look_then_book", slot, name) for name in names(RUNS)])
    fact("runs that saw it free", sum(result["saw_free"] for result in results))
    fact("bookings in the calendar", len(demo.bookings(slot)), "there is one room")


def claim_then_book(demo):
    title(f"2. Claim, book, confirm: the same {RUNS} runs")
    text("Each calls claim_slot first, and goes on only if the answer says ok.")
    slot = demo.slot("Tuesday")
    results = race([demo.booking("claim_then_book", slot, name) for name in names(RUNS)])
    booked = [result for result in results if result["booked"]]
    refused = [result["answer"] for result in results if not result["booked"]]
    calendar = demo.bookings(slot)
    told([result["claim"] for result in booked], "holder")
    outcomes = told(refused)
    fact("bookings in the calendar", len(calendar), *calendar)
    demo.promise("one run claims the slot", len(booked) == 1)
    demo.promise("its booking is confirmed", [run["answer"]["outcome"] for run in booked] == ["confirmed"])
    demo.promise("all others are told taken", outcomes == {"taken": RUNS - 1})
    demo.promise("the calendar has one booking", len(calendar) == 1)


def die_before_booking(demo):
    title("3. A run dies between claim and booking")
    slot = demo.slot("Wednesday")
    early = demo.booking("claim_then_book", slot, "run-early", "--lease", "1 min")
    demo.booking("claim_then_book", slot, "run-dead", "--lease", f"{SHORT_LEASE_S} s",
                 "--hang-at", "thinking").die_at("thinking")
    held = demo.db.ask("SELECT check_slot(%s)", slot)
    step("run-dead claims", f"token {held['token']}, a lease of {SHORT_LEASE_S} s; then kill -9")
    step("the slot now", f"{held['outcome']} by {held['holder']}, {seconds(held['remaining_ms'] / 1000)} left")
    demo.promise("the dead run's claim holds the slot", held["outcome"] == "claimed")

    early = early.result_at_once()["answer"]
    step("run-early claims", f"{early['outcome']}: {early['message']}")
    demo.promise("nobody gets in before the lease ends", early["outcome"] == "taken")

    retry = demo.booking("claim_then_book", slot, "run-retry", "--wait", "20 s").result_at_once()
    claim = retry.get("claim", retry["answer"])
    step("run-retry claims", f"{claim['outcome']} after waiting {seconds(claim['took_s'])}: {claim['message']}")
    late_by = instant(claim["claimed_at"]) - instant(held["expires_at"])
    step("", f"{seconds(late_by.total_seconds())} after the dead run's lease ended; token {claim.get('token')}")
    step("run-retry books", f"{retry['answer']['outcome']}: {retry['answer']['message']}")
    demo.promise("the slot comes back when the lease ends, and no sooner",
                 claim["outcome"] in ("claimed", "reclaimed") and late_by.total_seconds() >= 0)
    demo.promise("the retry is confirmed", retry["answer"]["outcome"] == "confirmed")

    late = demo.booking("confirm_late", slot, "run-dead", "--token", str(held["token"])).result_at_once()["answer"]
    step("run-dead confirms", f"{late['outcome']}: {late['message']}")
    calendar = demo.bookings(slot)
    fact("bookings in the calendar", len(calendar), *calendar)
    demo.promise("the dead run's late confirm is answered lost", late["outcome"] == "lost")
    demo.promise("the calendar has one booking, the retry's", calendar == ["run-retry"])


# --- one webhook -----------------------------------------------------------------------------


def look_then_charge(demo):
    title(f"4. Look, then charge: one webhook comes {DELIVERIES} times at once")
    text("Each run looks whether the event is new, thinks, charges the card and writes it down.")
    event = demo.event("order-1 paid")
    results = race([demo.payment_run("look_then_charge", event, name) for name in names(DELIVERIES)])
    fact("runs that saw it new", sum(result["saw_new"] for result in results))
    fact("charges on the card", len(demo.charges(event)), "there is one order")


def charge_once(demo):
    title(f"5. Begin, charge, finish: the same webhook, {DELIVERIES} times at once")
    text("Each calls begin_key first. Who is told to wait is sent again when the first has finished.")
    event = demo.event("order-2 paid")
    results = race([demo.payment_run("charge_once", event, name) for name in names(DELIVERIES)])
    charged = [result for result in results if "began" in result]
    refused = [result["answer"] for result in results if "began" not in result]
    told([result["began"] for result in charged], "holder")
    waiting = [answer for answer in refused if answer["outcome"] == "wait"]
    told(waiting)
    again = race([demo.payment_run("charge_once", event, answer["holder"]) for answer in waiting])
    replays = [answer for answer in refused if answer["outcome"] != "wait"] + [run["answer"] for run in again]
    outcomes = told(replays, "result")
    charges = [charge["id"] for charge in demo.charges(event)]
    fact("charges on the card", len(charges), *charges)
    demo.promise("one run begins the event", [run["began"]["outcome"] for run in charged] == ["run"])
    demo.promise("it finishes", [run["answer"]["outcome"] for run in charged] == ["done"])
    demo.promise("all others are told replay in the end", outcomes == {"replay": DELIVERIES - 1})
    demo.promise("the card is charged once", len(charges) == 1)
    demo.promise("each replay has the stored result",
                 all([answer.get("result")] == [{"charge": charge} for charge in charges] for answer in replays))


def die_before_finish(demo):
    title("6. A run dies between charge and finish")
    event = demo.event("order-3 paid")
    early = demo.payment_run("charge_once", event, "run-early")
    demo.payment_run("charge_once", event, "run-dead", "--lease", f"{SHORT_LEASE_S} s",
                     "--hang-at", "charged").die_at("charged")
    held = demo.db.ask("SELECT check_key(%s)", event)
    step("run-dead charges", f"{', '.join(charge['id'] for charge in demo.charges(event))}; then kill -9")
    step("the key now", f"{held['outcome']}, begun by {held['holder']}, {seconds(held['remaining_ms'] / 1000)} left")
    demo.promise("the dead run's key is pending", held["outcome"] == "pending")

    early = early.result_at_once()["answer"]
    step("run-early begins", f"{early['outcome']}: {early['message']}")
    demo.promise("nobody is let in before the lease ends", early["outcome"] == "wait")

    retry = demo.payment_run("charge_once", event, "run-retry", "--patient").result_at_once()
    began, found = retry.get("began", retry["answer"]), retry.get("found", [])
    step("run-retry begins", f"{began['outcome']} after waiting {seconds(began['took_s'])}: {began['message']}")
    step("run-retry looks", "the payment has " + (", ".join(f"{charge['id']} of {charge['run']}" for charge in found)
                                                  or "no charge for it"))
    step("run-retry finishes", f"{retry['answer']['outcome']}: {retry['answer']['message']}")
    demo.promise("the retry is told to verify when the lease ends, and no sooner",
                 began["outcome"] == "verify" and instant(began["started_at"]) >= instant(held["expires_at"]))
    demo.promise("it finds the dead run's charge", [charge["run"] for charge in found] == ["run-dead"])
    demo.promise("it finishes with that charge", retry["answer"]["outcome"] == "done")

    again = demo.payment_run("charge_once", event, "run-again").result_at_once()["answer"]
    step("run-again begins", f"{again['outcome']}: {again['message']} {json.dumps(again.get('result'))}")
    charges = demo.charges(event)
    fact("charges on the card", len(charges), *(f"{charge['id']} of {charge['run']}" for charge in charges))
    demo.promise("the card is charged once, by the dead run", [charge["run"] for charge in charges] == ["run-dead"])
    demo.promise("and its charge is what a later delivery gets",
                 [again.get("result")] == [{"charge": charge["id"]} for charge in charges])


# --- how it is printed -----------------------------------------------------------------------


def names(count):
    return [f"run-{n:02}" for n in range(1, count + 1)]


def title(words):
    print(f"\n{words}\n", flush=True)


def text(*lines):
    for line in lines:
        print(f"  {line}")
    print(flush=True)


def told(answers, which=None):
    """Prints how many got which answer, in the words of one of them; counts them."""
    outcomes = Counter(answer["outcome"] for answer in answers)
    for outcome, count in outcomes.items():
        answer = next(answer for answer in answers if answer["outcome"] == outcome)
        message = {
            None: answer["message"],
            "holder": f"{answer['holder']}: {answer['message']}",
            "result": f"{answer['message']} {json.dumps(answer.get('result'))}",
        }[which]
        fact(f'told "{outcome}"', count, message)
    return outcomes


def fact(what, number, *notes):
    print(f"  {what:<26}{number:<4}{', '.join(notes)}".rstrip(), flush=True)


def step(who, what):
    print(f"  {who:<26}{what}", flush=True)


def seconds(number):
    return f"{number:.2f} s" if number >= 0.1 else f"{number * 1000:.0f} ms"


def instant(iso):
    return datetime.fromisoformat(iso.replace("Z", "+00:00"))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--logs", type=Path, required=True, help="the folder of the programs' logs")
    demo = Demo(options.parse_args().logs)
    [version] = demo.db.query("SELECT split_part(version(), ' ', 2)")
    print(f"\npg_claims on PostgreSQL {version}, and outside of it two programs with a log each:")
    for name, app in ("calendar", demo.calendar), ("payment", demo.payment):
        print(f"the {name:<8} is process {app.process.pid}, {app.log}")
    demo.db.query("SET client_min_messages = warning; DROP SCHEMA IF EXISTS demo CASCADE")
    demo.db.query("CREATE SCHEMA demo")
    demo.db.query("CREATE TABLE demo.bookings (slot text, run text)")
    demo.db.query("CREATE TABLE demo.charges (event text, run text)")
    try:
        look_then_book(demo)
        claim_then_book(demo)
        die_before_booking(demo)
        look_then_charge(demo)
        charge_once(demo)
        die_before_finish(demo)
    finally:
        demo.close()

    if demo.broken:
        title("NOT KEPT:")
        text(*demo.broken)
        sys.exit(1)
    title("Now you: `make psql`, and there")
    text("SELECT claim_slot('Friday 15:00', 'me');",
         "SELECT claim_slot('Friday 15:00', 'you');",
         "SELECT * FROM claims.history ORDER BY claimed_at DESC LIMIT 5;")


main()
