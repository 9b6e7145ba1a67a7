"""Keys: begun for the first time, and asked for again."""

from measure import Load, Script

from .alternating import Bar, Work

NEW = r"""
\set key random(100000000000000000, 999999999999999999)
\set holder random(1, 1000000)
"""
DONE = r"""
\set key random(100000000000000001, 100000000000010000)
\set holder random(1, 1000000)
"""
BARE = """
INSERT INTO rival.keys (key, holder, status, started_at) VALUES ({key}, {holder}, 'pending', now())
ON CONFLICT DO NOTHING RETURNING key;
"""
FILL = """
INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at, finished_by, result)
SELECT (100000000000000000 + n)::text, 'done', 'filler', 1, 1, now(), now(), now(), 'filler', '{"charge": "ch-1"}'
FROM generate_series(1, 10000) AS n;
INSERT INTO twin.keys SELECT * FROM claims.keys;
INSERT INTO rival.keys SELECT key, holder, status, started_at, finished_at, result FROM claims.keys;
ANALYZE;
"""


def keys(plan):
    begin = Script("begin_key, new", NEW + "SELECT begin_key({key}, {holder});", counted="SELECT count(*) FROM claims.keys")
    bare = Script("bare INSERT", NEW + BARE, counted="SELECT count(*) FROM rival.keys")
    replay = Script("begin_key, replay", DONE + "SELECT begin_key({key}, {holder});")
    noop = Script("noop", DONE + "SELECT rival.noop({key}, {holder});")
    cells, bars = [], []
    for commit, several in [("on", (1, 8, 32)), ("off", (1,))]:
        for clients in plan.clients(*several, quick=(8,) if commit == "on" else ()):
            load = Load(clients, "prepared", commit)
            cells.append((load, [begin, bare]))
            bars.append(Bar("begin_key, new / the bare INSERT", load, begin.name, bare.name, 0.85 if commit == "on" else None, 1.0))
    for clients in plan.clients(1, 8, 32, quick=(8,)):
        # What writes nothing commits nothing: its time is the same either way.
        load = Load(clients)
        cells.append((load, [replay, noop]))
        bars.append(Bar("begin_key, replay / noop", load, replay.name, noop.name, 0.4, 0.6))
    return Work("keys", "Keys", "Each table begins with 10,000 finished keys, and grows.", cells, bars, FILL)
