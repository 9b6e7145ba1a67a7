"""A claim of a new slot, and of one that is taken."""

from measure import Load, Script

from .alternating import Bar, Work

# Names as long as those of slots are, in no order.
NEW = r"""
\set slot random(100000000000000000, 999999999999999999)
\set holder random(1, 1000000)
"""
TAKEN = r"""
\set holder random(1, 1000000)
"""

# The statement everyone copies.
COPIED = """
INSERT INTO rival.slots AS slot (slot_id, holder, status, claimed_at, expires_at)
VALUES ({slot}, {holder}, 'claimed', now(), now() + interval '5 minutes')
ON CONFLICT (slot_id) DO UPDATE
SET holder = excluded.holder, status = excluded.status, claimed_at = excluded.claimed_at, expires_at = excluded.expires_at
WHERE slot.status = 'released'
RETURNING slot.slot_id, slot.holder, slot.status, slot.claimed_at, slot.expires_at;
"""

# Beside each other: as many rows in the claims as in the table of the copied statement.
FILL = """
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
SELECT (100000000000000000 + n)::text, 1, 'filler', 'booked', now(), 'release' FROM generate_series(1, 10000) AS n;
INSERT INTO twin.slot_claims SELECT * FROM claims.slot_claims;
INSERT INTO rival.slots (slot_id, holder, status, claimed_at)
SELECT slot_id, holder, status, claimed_at FROM claims.slot_claims;
ANALYZE;
"""


def claim_new(plan):
    claim = Script("claim_slot", NEW + "SELECT claim_slot({slot}, {holder});",
                   counted="SELECT count(*) FROM claims.slot_claims")
    copied = Script("copied statement", NEW + COPIED, counted="SELECT count(*) FROM rival.slots")
    twin = Script("PL/pgSQL twin", NEW + "SELECT twin.claim_slot({slot}, {holder});",
                  counted="SELECT count(*) FROM twin.slot_claims")
    cells, bars = [], []
    for commit, least in [("on", 0.9), ("off", 0.8)]:
        for clients in plan.clients(1, 8, 32, quick=(1, 8, 32) if commit == "on" else (8,)):
            load = Load(clients, "prepared", commit)
            cells.append((load, [claim, copied, twin] if commit == "off" else [claim, copied]))
            bars.append(Bar("claim of a new slot / the copied statement", load, claim.name, copied.name, least, 1.0))
    for clients in plan.clients(1, 8, 32, quick=(8,)):
        load = Load(clients, "simple")
        cells.append((load, [claim, copied]))
        bars.append(Bar("claim of a new slot, as n8n sends it / the copied statement", load, claim.name, copied.name, 0.9, 1.0))
    return Work("claim-new", "Claim of a new slot",
                "Names are random; each table begins with 10,000 booked rows and grows.", cells, bars, FILL)


def claim_taken(plan):
    claim = Script("claim_slot", TAKEN + "SELECT claim_slot('wanted', {holder});")
    copied = Script("copied statement", TAKEN + COPIED.replace("{slot}", "'wanted'"))
    noop = Script("noop", TAKEN + "SELECT rival.noop('wanted', {holder});")
    cells, bars = [], []
    for protocol, how, several, some in [("prepared", "", (1, 8, 32), (1, 32)), ("simple", ", as n8n sends it", (1, 32), ())]:
        for clients in plan.clients(*several, quick=some):
            load = Load(clients, protocol)
            cells.append((load, [claim, copied, noop]))
            what = "claim of a taken slot" + how
            bars.append(Bar(f"{what} / the copied statement", load, claim.name, copied.name, 2.5 if clients == 1 else 5, None))
            bars.append(Bar(f"{what} / noop", load, claim.name, noop.name, None, 0.5))
    return Work(
        "claim-taken", "Claim of a slot that is taken",
        "Everybody wants the one slot, which somebody has claimed for a day; 10,000 booked rows beside it.", cells, bars,
        FILL + """
        SELECT claim_slot('wanted', 'winner', ttl => '1 day');
        INSERT INTO rival.slots VALUES ('wanted', 'winner', 'claimed', now(), now() + interval '1 day')""")
