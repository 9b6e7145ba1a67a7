--
-- Of a pool so many units can be had as there are, never more (case 22), and of
-- one request all of them or none.
--
SELECT facts(set_capacity('shirt 1', 1));
SELECT facts(claim_units('shirt 1', 'h1', ttl => '1 hour'));
SELECT facts(claim_units('shirt 1', 'h2'));
SELECT capacity, taken, (SELECT sum(units) FROM claims.active WHERE slot_id = 'shirt 1') AS live
  FROM claims.pools WHERE slot_id = 'shirt 1';

SELECT facts(set_capacity('shirt 2', 10));
SELECT facts(claim_units('shirt 2', 'h1', 7, '1 hour'));
SELECT facts(claim_units('shirt 2', 'h2', 4));
SELECT facts(claim_units('shirt 2', 'h2', 3));
SELECT facts(claim_units('shirt 2', 'h3', 1));
SELECT facts(check_slot('shirt 2'));
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'shirt 2';
SELECT token, holder, status, units FROM claims.slot_claims WHERE slot_id = 'shirt 2' ORDER BY token;

-- More than there will ever be, and none at all.
SELECT facts(claim_units('shirt 2', 'h3', 2147483647));
SELECT facts(set_capacity('shirt 3', 0));
SELECT facts(claim_units('shirt 3', 'h1'));
SELECT facts(check_slot('shirt 3'));
SELECT facts(set_capacity('shirt 4', 2147483647));
SELECT facts(claim_units('shirt 4', 'h1', 2147483647));
SELECT facts(claim_units('shirt 4', 'h2'));

-- A hundred customers, one unit each.
SELECT set_capacity('shirt 5', 40) ->> 'outcome' AS outcome;
SELECT facts(answer) ->> 'outcome' AS outcome, count(*), min((answer->>'available')::int) AS available
  FROM generate_series(1, 100) AS n, claim_units('shirt 5', 'h' || n) AS answer GROUP BY 1 ORDER BY 1;
SELECT capacity, taken, (SELECT sum(units) FROM claims.active WHERE slot_id = 'shirt 5') AS live
  FROM claims.pools WHERE slot_id = 'shirt 5';
SELECT facts(check_claims());

-- Rolled back, it was never there.
BEGIN;
SELECT set_capacity('shirt 6', 3) ->> 'available' AS available, claim_units('shirt 6', 'h1', 2) ->> 'outcome' AS outcome;
SAVEPOINT s;
SELECT claim_units('shirt 6', 'h2') ->> 'outcome' AS outcome;
ROLLBACK TO s;
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'shirt 6';
ROLLBACK;
SELECT count(*) FROM claims.pools WHERE slot_id = 'shirt 6';
SELECT * FROM claims_of('shirt 6');
