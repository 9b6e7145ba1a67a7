--
-- The capacity can be set anew at any time. Below what is taken it leaves an overhang,
-- and no claim succeeds until that has cleared; above it, restocking, there is room
-- at once.
--
SELECT facts(set_capacity('stock 1', 5));
SELECT facts(set_capacity('stock 1', 5));
SELECT facts(claim_units('stock 1', 'h1', 3, '1 hour')) ->> 'outcome' AS outcome,
       facts(claim_units('stock 1', 'h2', 1, '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(set_capacity('stock 1', 4));
SELECT facts(set_capacity('stock 1', 2));
SELECT facts(claim_units('stock 1', 'h3'));
SELECT facts(check_slot('stock 1'));
SELECT facts(check_claims());

-- Those who have theirs keep them.
SELECT facts(confirm_slot('stock 1', 'h1', 1));
SELECT facts(extend_slot('stock 1', 'h2', 2)) ->> 'outcome' AS outcome;

-- Still one too many; then just enough for nobody; then one is free.
SELECT facts(release_slot('stock 1', 'h2', 2)) ->> 'outcome' AS outcome;
SELECT facts(claim_units('stock 1', 'h3'));
SELECT facts(set_capacity('stock 1', 3));
SELECT facts(claim_units('stock 1', 'h3'));
SELECT facts(set_capacity('stock 1', 4));
SELECT facts(claim_units('stock 1', 'h3')) ->> 'outcome' AS outcome;
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'stock 1';

-- Sold out for good.
SELECT facts(set_capacity('stock 1', 0));
SELECT facts(cancel_slot('stock 1', 'desk', 1)) ->> 'outcome' AS outcome;
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'stock 1';
SELECT facts(claim_units('stock 1', 'h4'));

-- What has expired is available, although nobody has given it back yet.
SELECT set_capacity('stock 3', 3) ->> 'outcome' AS outcome, claim_units('stock 3', 'h1', 2, '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(set_capacity('stock 3', 3)) - 'taken' AS answer, check_slot('stock 3') ->> 'available' AS available;

-- Of periods it is the fullest instant that hangs over; at other times there is room.
SELECT set_capacity('stock 4', 4) ->> 'outcome' AS outcome,
       claim_period('stock 4', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => 3) ->> 'outcome' AS outcome,
       claim_period('stock 4', 'h2', '2031-01-02T20:00Z', '2031-01-02T22:00Z', units => 1) ->> 'outcome' AS outcome;
SELECT facts(set_capacity('stock 4', 2));
SELECT facts(claim_period('stock 4', 'h3', '2031-01-02T20:30Z', '2031-01-02T20:45Z', units => 1));
SELECT facts(claim_period('stock 4', 'h3', '2031-01-02T22:00Z', '2031-01-02T23:00Z', units => 2)) ->> 'outcome' AS outcome;
SELECT facts(set_capacity('stock 4', 4));

-- Whoever waits gets what comes back.
SELECT set_capacity('stock 2', 1) ->> 'outcome' AS outcome, claim_units('stock 2', 'h1', ttl => '300 ms') ->> 'outcome' AS outcome;
SELECT facts(claim_units('stock 2', 'h2', wait => '50 ms'));
SELECT facts(claim_units('stock 2', 'h2', wait => '30 s'));
SELECT token, holder, status, ended_by FROM claims.slot_claims WHERE slot_id = 'stock 2' ORDER BY token;

SELECT facts(check_claims());
