"""A session that never ends: what its backend's own memory grows by."""

from threading import Thread

from machine import field
from measure import Load, Script

from .alternating import fresh_database, sound, verdict

# A life of a session: won, lost, renewed, asked, given back; a key begun, waited for, finished, replayed;
# and an error.
CALLS = [
    "SELECT claim_slot({slot}, 'h');",
    "SELECT claim_slot({slot}, 'other');",
    "SELECT extend_slot({slot}, 'h');",
    "SELECT check_slot({slot});",
    "SELECT release_slot({slot}, 'h');",
    "SELECT begin_key({slot}, 'h');",
    "SELECT begin_key({slot}, 'other');",
    "SELECT finish_key({slot}, 'h', 1, '{{\"charge\": \"ch-1\"}}');",
    "SELECT begin_key({slot}, 'other');",
    "DO $$ BEGIN PERFORM claim_slot('undefined', 'h'); EXCEPTION WHEN invalid_parameter_value THEN NULL; END $$;",
]


def memory(server, plan):
    calls = plan.size(1_000_000, 50_000, 20_000)
    fresh_database(server, "")
    session = Script("one session", "\\set i :i + 1\n\\set slot 100000000000000000 + :i\n" + "\n".join(CALLS))
    load = Load(1, "prepared", "off", calls // len(CALLS))
    with server.connect("bench") as db:
        driver = Thread(target=session.pgbench, args=(server, load))
        driver.start()
        # What it does not share with other backends, while it lives.
        sizes = []
        while driver.is_alive():
            driver.join(0.1)
            pid = db.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'").fetchone()
            if pid and (size := anonymous_kb(pid[0])):
                sizes.append(size)
        done = db.execute("SELECT count(*) FROM claims.keys WHERE status = 'done'").fetchone()[0]
        if done != calls // len(CALLS):
            raise RuntimeError(f"the session was to finish {calls // len(CALLS)} keys, and finished {done}")
        sound(db)
    # Its first tenth fills the caches.
    growth = (sizes[-1] - sizes[len(sizes) // 10]) / 1024
    what = f"one session, {calls:,} calls: growth of its memory after the first tenth, in MB"
    return {"work": "memory", "title": "One session",
            "note": f"{calls:,} calls of one session: " + "claims won, lost, extended and released, keys begun and finished, errors.",
            "figures": [{"what": "memory after the first tenth", "value": round(sizes[len(sizes) // 10] / 1024, 2), "unit": "MB"},
                        {"what": "memory at the end", "value": round(sizes[-1] / 1024, 2), "unit": "MB"}],
            "sizes_kb": sizes,
            "bars": [verdict(what, growth, None, None) | {"most": 1, "reached": growth < 1}]}


def anonymous_kb(pid):
    try:
        return int(field(f"/proc/{pid}/status", "RssAnon").split()[0])
    except (FileNotFoundError, ProcessLookupError, ValueError):
        # It has just ended.
        return None
