"""Many sessions that claim and confirm slots, and begin and finish keys, write down what they were told,
and go on where the server is now when theirs has died."""

import itertools
import random
import threading
import time
from collections import Counter, defaultdict
from typing import NamedTuple

import psycopg

from own_server import ask, until

SESSIONS = 16
# Requests for one slot, made one after the other by whoever is free, so that several are inside at once;
# and as many for its key.
REQUESTS_A_SLOT = 20


class Told(NamedTuple):
    """An acknowledged answer."""

    what: str        # claim, confirm, begin or finish
    slot: str        # or the key
    holder: str
    outcome: str
    token: int
    begun: float     # before the call was sent
    ended: float     # after its answer had come


class Crowd:
    def __init__(self, server, seed):
        self.server = server          # replaced by a test when another one has taken over
        self.told = []
        self.unanswered = 0
        self.faults = []
        self.seed = seed
        self.requests = itertools.count()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(SESSIONS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def until_told(self, more):
        enough = len(self.told) + more
        until(f"{more} answers", lambda: self.faults or len(self.told) >= enough)

    def work(self, number):
        rng = random.Random(self.seed + number)
        session = None
        try:
            while not self.over.is_set():
                request = next(self.requests)
                holder = f"run {request}"
                act = self.once if request % 2 else self.book
                session = act(session, f"the {request // (2 * REQUESTS_A_SLOT)}th", holder, rng)
        except Exception as fault:
            self.faults.append(fault)
        finally:
            if session is not None:
                session.close()

    def book(self, session, slot, holder, rng):
        session, claim = self.call(session, "claim", slot, holder, "claim_slot(%s, %s, ttl => %s, call_id => %s)",
                                   rng.choice(["40 ms", "1 h"]), holder)
        end = rng.choice(["confirm", "release", "leave"])
        if claim and claim["ok"] and end != "leave":
            session, _ = self.call(session, end, slot, holder, f"{end}_slot(%s, %s, %s)", claim["token"])
        return session

    def once(self, session, key, holder, rng):
        session, begun = self.call(session, "begin", key, holder, "begin_key(%s, %s, lease => '1 h', call_id => %s)", holder)
        if begun and begun["outcome"] == "run":
            session, _ = self.call(session, "finish", key, holder, "finish_key(%s, %s, %s, result => %s)", begun["token"],
                                   f'{{"by": "{holder}"}}')
        return session

    def call(self, session, what, slot, holder, call, *rest):
        """Repeats the same call, as Retry On Fail does, until somebody has answered it."""
        while True:
            begun = time.monotonic()
            try:
                if session is None:
                    session = self.server.connect()
                    begun = time.monotonic()
                answer = ask(session, call, slot, holder, *rest)
            except psycopg.OperationalError:
                if session is not None:
                    self.unanswered += 1
                    session.close()
                    session = None
                if self.over.is_set():
                    return None, None
                time.sleep(0.05)
                continue
            # A key that somebody else has finished is ok too, and no claim.
            if answer["ok"] and answer["outcome"] not in ("released", "already_released", "replay"):
                self.told.append(Told(what, slot, holder, answer["outcome"], answer["token"], begun, time.monotonic()))
            return session, answer

    def broken_promises(self, server):
        """Each promise that was broken, with what was told."""
        assert not self.faults, self.faults
        with server.connect() as session:
            rows = session.execute("SELECT slot_id, token, holder, status FROM claims.slot_claims").fetchall()
            keys = session.execute("SELECT key, token, holder, status FROM claims.keys").fetchall()
        slots = {(slot, token): (holder, status) for slot, token, holder, status in rows}
        keys = {(key, token): (holder, status) for key, token, holder, status in keys}
        broken = defaultdict(list)
        winners, owners, by_slot = defaultdict(set), {}, defaultdict(list)
        for told in self.told:
            of_slot = told.what in ("claim", "confirm")
            holder, status = (slots if of_slot else keys).get((told.slot, told.token), (None, None))
            if holder != told.holder or status != {"confirm": "booked", "finish": "done"}.get(told.what, status):
                broken["lost"].append(told)
            # A key's lease outlives the test, so whoever was let in was the only one.
            if told.what in ("confirm", "begin"):
                winners[told.what, told.slot].add(told.holder)
            if told.what == "claim":
                by_slot[told.slot].append(told)
                if owners.setdefault((told.slot, told.token), told.holder) != told.holder:
                    broken["one token for two"].append(told)
        broken["two winners"] = [(slot, holders) for slot, holders in winners.items() if len(holders) > 1]
        for claims in by_slot.values():
            claims.sort(key=lambda told: told.ended)
            for earlier, later in itertools.combinations(claims, 2):
                if earlier.ended < later.begun and earlier.holder != later.holder and earlier.token >= later.token:
                    broken["a token did not rise"].append((earlier, later))
        return {what: cases for what, cases in broken.items() if cases}

    def tally(self):
        return dict(Counter(f"{told.what} {told.outcome}" for told in self.told))
