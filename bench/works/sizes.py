"""What becomes of it in the second year: the tables grow, claims expire in heaps, a slot is claimed a
million times, a session never ends."""

import time
from statistics import median

import numpy

from measure import Load, Script, alternate

from . import claims
from .alternating import fresh_database, judged_ratio, sound, verdict


FIRST = 100_000_000_000_000_000


def step(rows):
    """The names of the booked slots are as far from each other as that, so that new ones fall between them."""
    return 9 * FIRST // rows


def filled(server, rows):
    """A database with so many booked rows; its name."""
    name = f"booked-{rows}"
    server.drop_database(name)
    server.create_database(name)
    with server.connect(name) as db:
        db.execute(f"""
            INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
            SELECT ({FIRST} + n * {step(rows)})::text, 1, 'filler', 'booked', now(), 'release'
            FROM generate_series(0, {rows - 1}::bigint) AS n""")
        db.execute("VACUUM ANALYZE claims.slot_claims")
        db.execute("CHECKPOINT")
    return name


def sizes(server, plan):
    """Claims, and the reaper, by the number of booked rows beside them."""
    several = plan.size((10_000, 1_000_000, 10_000_000), (10_000, 300_000), (1_000, 10_000))
    names = {rows: filled(server, rows) for rows in several}
    call = "SELECT claim_slot({slot}, {holder});"
    load = Load(1, "prepared", "off")
    cells, bars = [], []
    for what, script, least, aim in [
        ("claim of a new slot", lambda rows: claims.NEW + call, 0.85, 0.95),
        ("claim of a booked slot", lambda rows: f"\\set slot {FIRST} + random(0, {rows - 1}) * {step(rows)}" + claims.TAKEN + call, None, None),
    ]:
        subjects = [Script(f"{what}, {rows:,} booked rows", script(rows), database=name) for rows, name in names.items()]
        cells.append(alternate(server, subjects, load, plan.rounds, plan.time(load)))
        bars.append(judged_ratio(f"{what} with {several[-1]:,} booked rows / with {several[0]:,}", cells[-1],
                                 subjects[-1].name, subjects[0].name, least, aim, by_median_call=True))
    figures = reap_some(server, names[several[-1]], several[-1], bars)
    for name in names.values():
        with server.connect(name) as db:
            sound(db)
        server.drop_database(name)
    return {"work": "sizes", "title": "By the number of booked rows", "cells": cells, "bars": bars, "figures": figures, "sizes": several,
            "note": "A database for each size. One client, synchronous_commit off; compared by the median call. A claim among many rows "
                    "is the first since the last checkpoint to write to its pages, whose full images then go to the WAL."}


def reap_some(server, name, rows, bars):
    """A thousand expired claims among them. The server counts the scans of the whole table."""
    with server.connect(name) as db:
        db.execute("""
            INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
            SELECT 'expired-' || n, 1, 'h', 'claimed', now() - interval '2 hours', now() - interval '1 hour', 'release'
            FROM generate_series(1, 1000) AS n""")
        before = scans(db)
        begun = time.monotonic()
        answer = db.execute("SELECT reap_stale_claims()").fetchone()[0]
        took_ms = (time.monotonic() - begun) * 1000
        if answer["expired"] != 1000:
            raise RuntimeError(f"1000 claims had expired, and the reaper answered {answer}")
        found = scans(db) - before
    bars.append(verdict(f"scans of the whole table by reaping 1,000 expired among {rows:,} booked", found, None, None) | {"reached": found == 0})
    return [{"what": f"reap of 1,000 expired among {rows:,} booked", "value": round(took_ms, 1), "unit": "ms"}]


def scans(db):
    # Statistics of this session are sent when it is idle or asked to.
    db.execute("SELECT pg_stat_force_next_flush()")
    db.execute("SELECT pg_stat_clear_snapshot()")
    return db.execute("SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'claims.slot_claims'::regclass").fetchone()[0]


UPDATE = """
    UPDATE rival.expired SET status = 'expired', expires_at = NULL, ended_at = clock_timestamp(), ended_by = 'reaper'
    WHERE status = 'claimed' AND expires_at <= clock_timestamp()"""


def reap(server, plan):
    """The reaper beside a bare UPDATE of the same rows in the same table under another name. Each is
    rolled back, so that the next round finds the same rows; the last reap stays."""
    rows = plan.size(1_000_000, 50_000, 2_000)
    fresh_database(server, """
        INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
        SELECT (100000000000000000 + n)::text, 1, 'h', 'claimed', now() - interval '2 hours',
               now() - interval '1 hour' + n * interval '1 millisecond', 'release'
        FROM generate_series(1, %d) AS n;
        CREATE TABLE rival.expired (LIKE claims.slot_claims INCLUDING ALL);
        INSERT INTO rival.expired SELECT * FROM claims.slot_claims;
        VACUUM ANALYZE;
        CHECKPOINT""" % rows)
    took = {"reap_stale_claims": [], "bare UPDATE": []}
    with server.connect("bench") as db:
        for turn in range(plan.rounds):
            pair = [("reap_stale_claims", "SELECT reap_stale_claims()"), ("bare UPDATE", UPDATE)]
            for name, sql in pair if turn % 2 else reversed(pair):
                db.execute("VACUUM")
                db.execute("BEGIN")
                begun = time.monotonic()
                db.execute(sql)
                took[name].append(time.monotonic() - begun)
                db.execute("ROLLBACK")
        if db.execute("SELECT reap_stale_claims()").fetchone()[0]["expired"] != rows:
            raise RuntimeError("the reaper did not end what had expired")
        sound(db)
    ratios = [update / reap for reap, update in zip(took["reap_stale_claims"], took["bare UPDATE"])]
    what = f"reap of {rows:,} expired / the bare UPDATE of the same rows"
    return {"work": "reap", "title": "A heap of expired claims", "note": f"{rows:,} claims that have all expired; the time until it could commit.",
            "figures": [{"what": name, "value": round(median(times), 2), "unit": "s", "rounds": times} for name, times in took.items()],
            "bars": [verdict(what, median(ratios), 0.5, 0.8) | {"from": min(ratios), "to": max(ratios)}]}


def churn(server, plan):
    """One slot, claimed and released over and over, with autovacuum on as it is by default."""
    times = plan.size(1_000_000, 20_000, 1_000)
    fresh_database(server, "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()")
    script = Script("claim_slot and release_slot", claims.TAKEN + """
        SELECT claim_slot('room', {holder});
        SELECT release_slot('room', {holder}, :i + 1);
        """ + "\\set i :i + 1\n")
    with server.connect("bench") as db:
        ends = numpy.sort(script.pgbench(server, Load(1, "prepared", "off", times))[0])
        if db.execute("SELECT count(*) FROM claims.slot_claims WHERE status = 'released'").fetchone()[0] != times:
            raise RuntimeError("not every claim of the slot was released")
        sound(db)
        db.execute("ALTER SYSTEM RESET autovacuum")
        db.execute("SELECT pg_reload_conf()")
    tenths = [ends[(tenth + 1) * times // 10 - 1] - ends[max(tenth * times // 10 - 1, 0)] for tenth in range(10)]
    rates = [round(times / 10 / tenth) for tenth in tenths]
    return {"work": "churn", "title": "One slot over and over", "note": f"Claimed and released {times:,} times by one client, autovacuum on.",
            "figures": [{"what": f"{name} tenth", "value": rates[tenth], "unit": "times a second"} for name, tenth in (("first", 0), ("last", 9))],
            "tenths": rates,
            "bars": [verdict(f"one slot claimed and released {times:,} times: last tenth / first tenth", rates[9] / rates[0], 0.9, 1.0)]}
