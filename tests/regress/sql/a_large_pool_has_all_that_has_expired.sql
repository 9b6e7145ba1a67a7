-- However many claims of a pool have expired without anybody having ended them, their units
-- can be had, and are told as available, at once.
SELECT set_capacity('spool 1', 2500) ->> 'available' AS available;
SELECT count(*) FROM generate_series(1, 2500) AS n, claim_units('spool 1', 'h' || n) AS answer WHERE answer ->> 'outcome' = 'claimed';
SELECT facts(claim_units('spool 1', 'late'));
UPDATE claims.slot_claims SET expires_at = claimed_at WHERE slot_id = 'spool 1';
SELECT facts(check_slot('spool 1'));
SELECT facts(claim_units('spool 1', 'late', 2400)) ->> 'outcome' AS outcome;
SELECT * FROM claims.pools WHERE slot_id = 'spool 1';
SELECT facts(check_claims());
