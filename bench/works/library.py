"""A library for what keys are for, agent-effects-postgres, and begin_key with finish_key, both in one
program (bench/library) through one driver."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy

from measure import Load, alternate, position, result

from .alternating import fresh_database, judged_ratio, sound

CRATE = Path(__file__).resolve().parent.parent / "library"
BUILT = CRATE.parent.parent / "target" / "library"


@dataclass(frozen=True)
class Once:
    """Something done once, by a program that reads what to do as JSON."""

    name: str
    subject: str

    def measure(self, server, load, time):
        job = {"socket": server.sockets, "database": "bench", "clients": load.clients, "seconds": time.seconds, "subject": self.subject}
        with server.connect("bench") as db:
            wal = position(db)
            ran = subprocess.run([BUILT / "release" / "library"], input=json.dumps(job), capture_output=True, text=True, cwd="/")
            if ran.returncode != 0:
                raise RuntimeError(f"{self.name} failed:\n{ran.stderr}")
            done = json.loads(ran.stdout)
            wal_bytes = (position(db) - wal) / len(done)
        ends, took = (numpy.array([one[name] for one in done]) for name in ("ended_at", "took"))
        return result(ends, took, (ends - took).min() + time.warm_up, 1, wal_bytes)


def library(server, plan):
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked"], check=True, cwd=CRATE,
                   stdin=subprocess.DEVNULL)
    fresh_database(server, "")
    pairs = [("new key", Once("begin_key and finish_key", "pg_claims_new"), Once("agent-effects-postgres", "library_new")),
             ("replay", Once("begin_key, replay", "pg_claims_replay"), Once("agent-effects-postgres, replay", "library_replay"))]
    cells, bars = [], []
    for clients in plan.clients(1, 8, quick=(2,)):
        for what, ours, theirs in pairs:
            cells.append(alternate(server, [ours, theirs], Load(clients), plan.rounds, plan.time(Load(clients))))
            bars.append(judged_ratio(f"{what} / agent-effects-postgres", cells[-1], ours.name, theirs.name, None, None, False)
                        | {"load": str(Load(clients))})
    with server.connect("bench") as db:
        sound(db)
    return {"work": "library", "title": "A library for the same purpose", "cells": cells, "bars": bars,
            "note": "agent-effects-postgres 0.2.0, which also keeps the history of each effect, and begin_key with finish_key, "
                    "through the same driver (sqlx) and pool. What is to be done once is nothing."}
