"""Workloads of one shape: subjects and rivals take turns, under one load after the other."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

from measure import Load, Script, alternate, ratio

SQL = Path(__file__).resolve().parent.parent / "sql"


@dataclass(frozen=True)
class Bar:
    """What the ratio of a subject to its rival should come to under a load."""

    what: str
    load: Load
    subject: str
    rival: str
    least: float | None
    aim: float | None
    by_median_call: bool = False


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    # What the tables hold when it begins, and whatever else a reader has to know.
    note: str
    # Each load with those that are measured under it.
    cells: list[tuple[Load, list[Script]]]
    bars: list[Bar] = field(default_factory=list)
    setup: str = ""


def alternating(make):
    """The workload that `make` makes for a plan, ready to be run."""

    def run(server, plan):
        work = make(plan)
        fresh_database(server, work.setup)
        with server.connect("bench") as db:
            db.execute("CHECKPOINT")
            cells = []
            for load, subjects in work.cells:
                db.execute("VACUUM")
                cells.append(alternate(server, subjects, load, plan.rounds, plan.time(load)))
            sound(db)
        return {"work": work.name, "title": work.title, "note": work.note, "cells": cells,
                "bars": [judged(bar, cells) for bar in work.bars]}

    return run


def fresh_database(server, setup):
    """The database `bench`, with the rivals beside the extension."""
    server.drop_database("bench")
    server.create_database("bench", SQL / "rivals.sql", SQL / "twins.sql")
    with server.connect("bench") as db:
        for statement in filter(str.strip, setup.split(";")):
            db.execute(statement)


def judged(bar, cells):
    cell = next(cell for cell in cells if asdict(bar.load).items() <= cell.items() and bar.subject in cell["subjects"])
    return judged_ratio(bar.what, cell, bar.subject, bar.rival, bar.least, bar.aim, bar.by_median_call) | {"load": str(bar.load)}


def judged_ratio(what, cell, subject, rival, least, aim, by_median_call):
    middle, lowest, highest = ratio(cell, subject, rival, by_median_call)
    return verdict(what, middle, least, aim) | {"from": lowest, "to": highest}


def verdict(what, value, least, aim):
    """A bar as it goes into the results."""
    return {"what": what, "load": "", "value": value, "least": least, "aim": aim,
            "reached": None if least is None else value >= least}


def sound(db):
    """Whatever was measured, nothing may have been claimed twice."""
    answer = db.execute("SELECT check_claims()").fetchone()[0]
    if not answer["ok"]:
        raise RuntimeError(f"check_claims found {answer['violation_count']} violations: {answer['violations']}")
