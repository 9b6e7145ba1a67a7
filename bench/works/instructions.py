"""Instructions a call, counted by callgrind: free of whatever else the machine does.

The calls are prepared statements of one backend in single-user mode, under valgrind. Two runs of
different length, and what they differ by: start, plans and caches count in neither.
"""

import re
import shutil
import subprocess

from server import as_server

from . import claims, keys
from .alternating import fresh_database, sound

CLAIM_COPIED = claims.COPIED.format(slot="$1", holder="$2").strip().rstrip(";")
KEY_BARE = keys.BARE.format(key="$1", holder="$2").strip().rstrip(";")
PERIOD_BARE = """
    INSERT INTO rival.appointments (room, period, holder, status, claimed_at, expires_at)
    VALUES ($1, tstzrange('2030-01-01T15:00Z', '2030-01-01T16:00Z'), $2, 'claimed', now(), now() + interval '5 minutes')
    RETURNING room, period, holder, status, claimed_at, expires_at"""

# What is called with a name of its own each time ('new'), or with the one that is there ('taken').
STATEMENTS = [
    ("noop", "new", "SELECT rival.noop($1, $2)"),
    ("claim of a new slot", "new", "SELECT claim_slot($1, $2)"),
    ("claim of a new slot: copied statement", "new", CLAIM_COPIED),
    ("claim of a new slot: PL/pgSQL twin", "new", "SELECT twin.claim_slot($1, $2)"),
    ("claim of a taken slot", "taken", "SELECT claim_slot($1, $2)"),
    ("claim of a taken slot: copied statement", "taken", CLAIM_COPIED),
    ("claim of a taken slot: PL/pgSQL twin", "taken", "SELECT twin.claim_slot($1, $2)"),
    ("begin_key, new", "new", "SELECT begin_key($1, $2)"),
    ("begin_key, new: bare INSERT", "new", KEY_BARE),
    ("begin_key, replay", "taken", "SELECT begin_key($1, $2)"),
    ("claim_period", "new", "SELECT claim_period($1, $2, '2030-01-01T15:00Z', '2030-01-01T16:00Z')"),
    ("claim_period: bare INSERT", "new", PERIOD_BARE),
    ("claim_units", "new", "SELECT claim_units('pool', $1, note => to_jsonb($2))"),
    ("claim_units: bare UPDATE", "new", "UPDATE rival.stock SET n = n - 1 WHERE item = 'pool' AND n > 0 AND $1 <> $2 RETURNING n"),
]
SETUP = """
    SELECT claim_slot('taken', 'winner', ttl => '1 day');
    SELECT twin.claim_slot('taken', 'winner', ttl => '1 day');
    INSERT INTO rival.slots VALUES ('taken', 'winner', 'claimed', now(), now() + interval '1 day');
    SELECT set_capacity('pool', 1000000);
    INSERT INTO rival.stock VALUES ('pool', 1000000);
    SELECT begin_key('taken', 'winner');
    SELECT finish_key('taken', 'winner', 1, '{"charge": "ch-1"}');
    CHECKPOINT
"""


def instructions(server, plan):
    fresh_database(server, SETUP)
    calls = plan.size(400, 200, 40)
    statements = STATEMENTS[:plan.size(len(STATEMENTS), 3, 1)]
    counts = {}
    if shutil.which("valgrind"):
        server.stop()
        for number, (name, how, sql) in enumerate(statements):
            short, long = (counted(server, f"{number}-{length}", how, sql, length) for length in (calls // 4, calls))
            counts[name] = round((long - short) / (calls - calls // 4))
        server.start()
    with server.connect("bench") as db:
        sound(db)
    return {"work": "instructions", "title": "Instructions a call",
            "note": "Counted by callgrind, one backend in single-user mode, prepared statements."
                    if counts else "Not counted: there is no valgrind here.",
            "figures": [{"what": name, "value": value, "unit": "instructions"} for name, value in counts.items()]}


def counted(server, mark, how, sql, calls):
    """The instructions of a backend that makes that many calls."""
    lines = [f"PREPARE call(text, text) AS {' '.join(sql.split())}"]
    for i in range(calls):
        name = "taken" if how == "taken" else f"10000000000{mark}-{i * 7919 % 100003}"
        lines.append(f"EXECUTE call('{name}', 'holder-{i}')")
    ran = subprocess.run(
        as_server("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                  server.bin / "postgres", "--single", "-D", server.data, "bench"),
        input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, cwd="/")
    if "ERROR" in ran.stderr:
        raise RuntimeError(f"{sql} failed:\n{ran.stderr}")
    return int(re.search(r"Collected : (\d+)", ran.stderr)[1])
