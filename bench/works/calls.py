"""Every call beside its PL/pgSQL twin. By one client and with synchronous_commit off, so that what is
compared is their work and not the disk's; by the median call, which other work on the machine moves least."""

from measure import Load, Script

from . import bookings, claims, keys
from .alternating import Bar, Work, alternating, fresh_database

ROWS = 10_000
# One after the other, each once: the names that the fill below makes.
NEXT = r"""
\set i :i + 1
\set {name} 100000000000000000 + :i
"""
ANY = r"""
\set {name} random(100000000000000001, 100000000000010000)
"""

CLAIMS = """
TRUNCATE {schema}.slot_claims;
UPDATE {schema}.pools SET taken = 0;
INSERT INTO {schema}.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT (100000000000000000 + n)::text, 1, 'h', {status}, now(), {expires_at}, 'release' FROM generate_series(1, {rows}) AS n;
ANALYZE {schema}.slot_claims
"""
KEYS = """
TRUNCATE {schema}.keys;
INSERT INTO {schema}.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at, finished_by, result)
SELECT (100000000000000000 + n)::text, {status}, 'h', 1, 1, now(), now() + n * interval '1 s' + interval '1 hour', {finished_at}, {finished_by}, {result}
FROM generate_series(1, {rows}) AS n;
ANALYZE {schema}.keys
"""
CLAIMED = dict(fill=CLAIMS, status="'claimed'", expires_at="now() + n * interval '1 s' + interval '1 hour'")
BOOKED = dict(fill=CLAIMS, status="'booked'", expires_at="NULL")
PENDING = dict(fill=KEYS, status="'pending'", finished_at="NULL", finished_by="NULL", result="NULL")
DONE = dict(fill=KEYS, status="'done'", finished_at="now()", finished_by="'h'", result="""'{"charge": "ch-1"}'""")

# The call, which name it is given, what the table holds, and what counts as done.
CALLS = [
    ("claim_slot({slot}, {holder})", claims.NEW, BOOKED, "count(*) FROM {schema}.slot_claims"),
    ("claim_slot({slot}, 'other')", ANY.format(name="slot"), CLAIMED, None),
    ("confirm_slot({slot}, 'h', 1)", NEXT.format(name="slot"), CLAIMED, "count(*) FROM {schema}.slot_claims WHERE status = 'booked'"),
    ("release_slot({slot}, 'h', 1)", NEXT.format(name="slot"), CLAIMED, "count(*) FROM {schema}.slot_claims WHERE status = 'released'"),
    ("extend_slot({slot}, 'h', 1, '1 day')", ANY.format(name="slot"), CLAIMED, None),
    ("cancel_slot({slot}, 'h', 1)", NEXT.format(name="slot"), BOOKED, "count(*) FROM {schema}.slot_claims WHERE status = 'cancelled'"),
    ("check_slot({slot})", ANY.format(name="slot"), CLAIMED, None),
    ("holds_slot({slot}, 'h', 1)", ANY.format(name="slot"), CLAIMED, None),
    (f"claim_period({{room}}, {{holder}}, {bookings.FROM}, {bookings.TO})", bookings.PERIOD, BOOKED, "count(*) FROM {schema}.slot_claims"),
    ("claim_units('pool', {holder})", bookings.BUYER, BOOKED, "sum(taken) FROM {schema}.pools"),
    ("begin_key({key}, {holder})", keys.NEW, DONE, "count(*) FROM {schema}.keys"),
    ("begin_key({key}, 'other')", ANY.format(name="key"), DONE, None),
    ("finish_key({key}, 'h', 1, '{{\"charge\": \"ch-1\"}}')", NEXT.format(name="key"), PENDING,
     "count(*) FROM {schema}.keys WHERE status = 'done'"),
    ("check_key({key})", ANY.format(name="key"), DONE, None),
]
SAID = {
    "claim_slot({slot}, {holder})": "claim_slot, new", "claim_slot({slot}, 'other')": "claim_slot, taken",
    "begin_key({key}, {holder})": "begin_key, new", "begin_key({key}, 'other')": "begin_key, replay",
}

# A day in the life of both, to show that the twins are twins.
SAME = [
    "claim_slot('a', 'h')", "claim_slot('a', 'h')", "claim_slot('a', 'o')", "check_slot('a')", "holds_slot('a', 'h', 1)",
    "holds_slot('a', 'o', 1)", "extend_slot('a', 'h', 1, '1 hour')", "confirm_slot('a', 'h', 1, '{}')", "claim_slot('a', 'o')",
    "cancel_slot('a', 'x', 1)", "claim_slot('a', 'o')", "release_slot('a', 'o', 2)", "check_slot('a')", "check_slot('never')",
    "claim_slot('e', 'h', '1 ms')",
    "claim_period('p', 'h', '2030-01-01T15:00Z', '2030-01-01T16:00Z')", "claim_period('p', 'o', '2030-01-01T15:30Z', '2030-01-01T16:30Z')",
    "claim_period('p', 'o', '2030-01-01T16:00Z', '2030-01-01T16:30Z')",
    "claim_units('two', 'h')", "claim_units('two', 'h')", "claim_units('two', 'o')", "claim_units('two', 'x')",
    "begin_key('k', 'h')", "begin_key('k', 'o')", "check_key('k')", "finish_key('k', 'h', 1, '{\"a\": 1}')", "begin_key('k', 'o')",
    "finish_key('k', 'h', 1)", "check_key('k')", "begin_key('f', 'h')", "finish_key('f', 'h', 1, NULL, 'failed')", "begin_key('f', 'o')",
    # Over by now.
    "claim_slot('e', 'o')",
]


def calls(server, plan):
    fresh_database(server, "SELECT set_capacity('two', 2); INSERT INTO twin.pools SELECT * FROM claims.pools")
    with server.connect("bench") as db:
        for call in SAME:
            ours, twin = (told(db.execute(f"SELECT {schema}.{call}").fetchone()[0]) for schema in ("public", "twin"))
            if ours != twin:
                raise RuntimeError(f"{call} answered {ours}, and its twin {twin}")
    return alternating(pairs)(server, plan)


def told(answer):
    """What a workflow goes by."""
    return {name: answer.get(name) for name in ("ok", "outcome", "token", "status")} if isinstance(answer, dict) else answer


def pairs(plan):
    load = Load(1, "prepared", "off", plan.size(5000, 1000, 200))
    cells, bars = [], []
    for call, names, state, counted in CALLS:
        said = SAID.get(call, call.partition("(")[0])

        def script(name, function, schema):
            state_of = dict(state, schema=schema, rows=ROWS)
            return Script(
                name, f"{names}SELECT {function}{call};", before=state_of.pop("fill").format(**state_of),
                counted=counted and f"SELECT {counted.format(schema=schema)}")

        pair = [script(said, "", "claims"), script(f"{said}: PL/pgSQL twin", "twin.", "twin")]
        cells.append((load, pair))
        bars.append(Bar(f"{said} / its PL/pgSQL twin", load, pair[0].name, pair[1].name, 1.2, 1.5, by_median_call=True))
    return Work("calls", "Every call beside its PL/pgSQL twin",
                "10,000 rows before each measurement. move_period, resolve_slot, extend_key, reset_key, the calls about several "
                "slots, numbers and rows have no twin here.", cells, bars, """
        SELECT set_capacity('pool', 2000000000);
        INSERT INTO twin.pools SELECT * FROM claims.pools""")
