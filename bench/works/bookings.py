"""A whole booking; units of one pool; periods."""

from measure import Load, Script

from . import claims, keys
from .alternating import Bar, Work

BOOKING = claims.NEW + r"""
\set key :slot
"""


def booking(plan):
    ours = Script("begin, claim, confirm and finish", BOOKING + """
        SELECT claim_slot({slot}, {holder}, after => begin_key({key}, {holder}));
        SELECT finish_key({key}, {holder}, 1, '{{"event": "ev-1"}}', after => confirm_slot({slot}, {holder}, 1));
        """, counted="SELECT count(*) FROM claims.keys WHERE status = 'done'")
    # The same number of statements and of commits, which is the best that can be made of it.
    two = Script("two copied statements", BOOKING + """
        WITH begun AS (
            INSERT INTO rival.keys (key, holder, status, started_at) VALUES ({key}, {holder}, 'pending', now())
            ON CONFLICT DO NOTHING RETURNING key)
        INSERT INTO rival.slots AS slot (slot_id, holder, status, claimed_at, expires_at)
        SELECT {slot}, {holder}, 'claimed', now(), now() + interval '5 minutes' FROM begun
        ON CONFLICT (slot_id) DO UPDATE
        SET holder = excluded.holder, status = excluded.status, claimed_at = excluded.claimed_at, expires_at = excluded.expires_at
        WHERE slot.status = 'released' RETURNING slot.slot_id;
        WITH booked AS (
            UPDATE rival.slots SET status = 'booked', expires_at = NULL, result = '{{"event": "ev-1"}}'
            WHERE slot_id = {slot} AND holder = {holder} AND status = 'claimed' RETURNING slot_id)
        UPDATE rival.keys SET status = 'done', finished_at = now(), result = '{{"event": "ev-1"}}'
        FROM booked WHERE key = {key} AND status = 'pending' RETURNING key;
        """, counted="SELECT count(*) FROM rival.keys WHERE status = 'done'")
    # As they stand in a workflow: a node each.
    four = Script("four copied statements", BOOKING + keys.BARE + claims.COPIED + """
        UPDATE rival.slots SET status = 'booked', expires_at = NULL, result = '{{"event": "ev-1"}}'
        WHERE slot_id = {slot} AND holder = {holder} AND status = 'claimed' RETURNING slot_id;
        UPDATE rival.keys SET status = 'done', finished_at = now(), result = '{{"event": "ev-1"}}'
        WHERE key = {key} AND status = 'pending' RETURNING key;
        """, counted="SELECT count(*) FROM rival.keys WHERE status = 'done'")
    cells, bars = [], []
    for clients in plan.clients(1, 8, 32, quick=(8,)):
        load = Load(clients)
        cells.append((load, [ours, two, four]))
        bars.append(Bar("a whole booking / the copied statements for the same, in two", load, ours.name, two.name, 0.85, 1.0))
        bars.append(Bar("a whole booking / the copied statements, one by one", load, ours.name, four.name, None, 1.0))
    return Work("booking", "A whole booking", "Each table begins with 10,000 booked rows, and grows.", cells, bars, claims.FILL)


# Each time another holder.
BUYER = r"""
\set holder random(100000000000000000, 999999999999999999)
"""


def units(plan):
    ours = Script("claim_units", BUYER + "SELECT claim_units('pool', {holder});", counted="SELECT taken FROM claims.pools")
    bare = Script("bare UPDATE", BUYER + "UPDATE rival.stock SET n = n - 1 WHERE item = 'pool' AND n > 0 RETURNING n;",
                  counted="SELECT -n FROM rival.stock")
    cells, bars = [], []
    for clients in plan.clients(1, 8, 32, quick=(32,)):
        load = Load(clients)
        cells.append((load, [ours, bare]))
        least, aim = (0.9, 1.5) if clients == 32 else (None, None)
        bars.append(Bar("claim_units on one pool / the bare UPDATE", load, ours.name, bare.name, least, aim))
    return Work("units", "Units of one pool",
                "One pool that everybody claims a unit of, each time for another holder. Only units that were had count.",
                cells, bars, """
        SELECT set_capacity('pool', 2000000000);
        INSERT INTO rival.stock VALUES ('pool', 2000000000)""")


PERIOD = r"""
\set room random(100000, 109999)
\set second random(0, 216000000000)
\set holder random(1, 1000000)
"""
FROM, TO = ("to_timestamp({second}::bigint + %d)::text" % more for more in (0, 1))


def periods(plan):
    ours = Script("claim_period", PERIOD + f"SELECT claim_period({{room}}, {{holder}}, {FROM}, {TO});",
                  counted="SELECT count(*) FROM claims.slot_claims")
    # The times come as texts for both.
    bare = Script("bare INSERT", PERIOD + f"""
        INSERT INTO rival.appointments (room, period, holder, status, claimed_at, expires_at)
        VALUES ({{room}}, tstzrange({FROM}::timestamptz, {TO}::timestamptz), {{holder}}, 'claimed', now(), now() + interval '5 minutes')
        RETURNING room, period, holder, status, claimed_at, expires_at;""", counted="SELECT count(*) FROM rival.appointments")
    cells, bars = [], []
    for clients in plan.clients(1, 8, 32, quick=(8,)):
        load = Load(clients)
        cells.append((load, [ours, bare]))
        bars.append(Bar("claim_period / the bare INSERT under the constraint", load, ours.name, bare.name, 0.8, 1.0))
    return Work("periods", "Periods", "10,000 rooms; each table begins with 10,000 booked days, and grows. A period is a second long, so that no two of them meet by chance.", cells, bars, """
        INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry, period)
        SELECT (100000 + n)::text, 1, 'filler', 'booked', now(), 'release', tstzrange('1970-01-01Z', '1970-01-02Z')
        FROM generate_series(0, 9999) AS n;
        INSERT INTO rival.appointments (room, period, holder, status, claimed_at)
        SELECT slot_id, period, holder, status, claimed_at FROM claims.slot_claims;
        ANALYZE""")
