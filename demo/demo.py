"""The race for one slot, and its end.

Every run below is a process of its own with its own database connection (run.py). The calendar is
another process (calendar_app.py), and every number of bookings is counted in that process's log.
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
SHORT_LEASE_S = 3


class Demo:
    def __init__(self, logs):
        self.db = Database()
        self.broken = []
        # A day of its own for each time the demo is shown, since what is booked stays booked.
        self.shown = datetime.now().strftime("%m%d-%H%M%S")
        self.log = logs / f"calendar-{self.shown}-{os.getpid()}.log"
        self.log.touch()
        self.calendar = subprocess.Popen([sys.executable, HERE / "calendar_app.py", self.log],
                                         stdout=subprocess.PIPE, text=True)
        self.port = self.calendar.stdout.readline().strip()

    def slot(self, name):
        return f"{name} 15:00 ({self.shown})"

    def bookings(self, slot):
        """Who booked the slot, as the calendar's own log has it."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [line["run"] for line in lines if line["slot"] == slot]

    def run(self, steps, slot, holder, *options):
        return Run([steps, "--slot", slot, "--holder", holder, "--calendar", self.port, *options])

    def race(self, steps, slot):
        """Twenty runs that are all connected and ready before the first of them starts."""
        runs = [self.run(steps, slot, f"run-{n:02}") for n in range(1, RUNS + 1)]
        for run in runs:
            run.until("ready")
        for run in runs:
            run.go()
        return [run.result() for run in runs]

    def promise(self, what, kept):
        if not kept:
            self.broken.append(what)


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

    def kill(self):
        self.process.kill()
        self.process.communicate()


# --- the three things to see -----------------------------------------------------------------


def look_then_book(demo):
    title(f"1. Look, then book: {RUNS} runs want one slot")
    text("Each looks into the bookings table, finds 15:00 free or not, thinks for half a",
         "second as an AI step does, books it in the calendar and writes it down.")
    slot = demo.slot("Monday")
    demo.db.query("SET client_min_messages = warning; DROP SCHEMA IF EXISTS demo CASCADE")
    demo.db.query("CREATE SCHEMA demo")
    demo.db.query("CREATE TABLE demo.bookings (slot text, run text)")
    results = demo.race("look_then_book", slot)
    fact("runs that saw it free", sum(result["saw_free"] for result in results))
    fact("bookings in the calendar", len(demo.bookings(slot)), "there is one room")


def claim_then_book(demo):
    title(f"2. Claim, book, confirm: the same {RUNS} runs")
    text("Each calls claim_slot first, and goes on only if the answer says ok.")
    slot = demo.slot("Tuesday")
    results = demo.race("claim_then_book", slot)
    booked = [result for result in results if result["booked"]]
    refused = [result["answer"] for result in results if not result["booked"]]
    outcomes = Counter(answer["outcome"] for answer in refused)
    calendar = demo.bookings(slot)
    for result in booked:
        fact(f"told \"{result['claim']['outcome']}\"", 1, f"{result['claim']['holder']}: {result['claim']['message']}")
    for outcome, count in outcomes.items():
        message = next(answer["message"] for answer in refused if answer["outcome"] == outcome)
        fact(f'told "{outcome}"', count, message)
    fact("bookings in the calendar", len(calendar), *calendar)
    demo.promise("one run claims the slot", len(booked) == 1)
    demo.promise("its booking is confirmed", [run["answer"]["outcome"] for run in booked] == ["confirmed"])
    demo.promise("all others are told taken", outcomes == {"taken": RUNS - 1})
    demo.promise("the calendar has one booking", len(calendar) == 1)


def die_between(demo):
    title("3. A run dies between claim and booking")
    slot = demo.slot("Wednesday")
    dead = demo.run("claim_then_book", slot, "run-dead", "--ttl", f"{SHORT_LEASE_S} s", "--hang")
    dead.until("ready")
    dead.go()
    dead.until("thinking")
    dead.kill()
    held = demo.db.ask("SELECT check_slot(%s)", slot)
    step("run-dead claims", f"token {held['token']}, a lease of {SHORT_LEASE_S} s; then kill -9")
    step("the slot now", f"{held['outcome']} by {held['holder']}, {seconds(held['remaining_ms'] / 1000)} left")
    demo.promise("the dead run's claim holds the slot", held["outcome"] == "claimed")

    early = demo.run("claim_then_book", slot, "run-early", "--ttl", "1 min").result_at_once()
    step("run-early claims", f"{early['answer']['outcome']}: {early['answer']['message']}")
    demo.promise("nobody gets in before the lease ends", early["answer"]["outcome"] == "taken")

    retry = demo.run("claim_then_book", slot, "run-retry", "--wait", "20 s").result_at_once()
    claim = retry.get("claim", retry["answer"])
    step("run-retry claims", f"{claim['outcome']} after waiting {seconds(claim['took_s'])}: {claim['message']}")
    late_by = instant(claim["claimed_at"]) - instant(held["expires_at"])
    step("", f"{seconds(late_by.total_seconds())} after the dead run's lease ended; token {claim.get('token')}")
    step("run-retry books", f"{retry['answer']['outcome']}: {retry['answer']['message']}")
    demo.promise("the slot comes back when the lease ends, and no sooner",
                 claim["outcome"] in ("claimed", "reclaimed") and late_by.total_seconds() >= 0)
    demo.promise("the retry is confirmed", retry["answer"]["outcome"] == "confirmed")

    late = demo.run("confirm_late", slot, "run-dead", "--token", str(held["token"])).result_at_once()["answer"]
    step("run-dead confirms", f"{late['outcome']}: {late['message']}")
    calendar = demo.bookings(slot)
    fact("bookings in the calendar", len(calendar), *calendar)
    demo.promise("the dead run's late confirm is answered lost", late["outcome"] == "lost")
    demo.promise("the calendar has one booking, the retry's", calendar == ["run-retry"])


# --- how it is printed -----------------------------------------------------------------------


def title(words):
    print(f"\n{words}\n", flush=True)


def text(*lines):
    for line in lines:
        print(f"  {line}")
    print(flush=True)


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
    options.add_argument("--logs", type=Path, required=True, help="the folder of the calendar's logs")
    demo = Demo(options.parse_args().logs)
    [version] = demo.db.query("SELECT split_part(version(), ' ', 2)")
    print(f"\npg_claims on PostgreSQL {version}; the calendar is process {demo.calendar.pid}, and its log")
    print(demo.log)
    try:
        look_then_book(demo)
        claim_then_book(demo)
        die_between(demo)
    finally:
        demo.calendar.terminate()

    if demo.broken:
        title("NOT KEPT:")
        text(*demo.broken)
        sys.exit(1)
    title("Now you: `make psql`, and there")
    text("SELECT claim_slot('Friday 15:00', 'me');",
         "SELECT claim_slot('Friday 15:00', 'you');",
         "SELECT * FROM claims.history ORDER BY claimed_at DESC LIMIT 5;")


main()
