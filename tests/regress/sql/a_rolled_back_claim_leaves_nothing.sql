--
-- A claim is part of its transaction. One that is rolled back never was, and
-- the next gets its token.
--
BEGIN;
SELECT facts(claim_slot('lane 1', 'h1'));
SELECT facts(claim_slot('lane 1', 'h2'));
ROLLBACK;
SELECT facts(check_slot('lane 1'));
SELECT facts(claim_slot('lane 1', 'h2'));

-- To a savepoint, too.
BEGIN;
SAVEPOINT before_claim;
SELECT facts(claim_slot('lane 2', 'h1'));
ROLLBACK TO SAVEPOINT before_claim;
SELECT facts(claim_slot('lane 2', 'h2'));
COMMIT;
SELECT * FROM claims_of('lane 2');

-- What was done to a claim is undone with it.
BEGIN;
SELECT facts(confirm_slot('lane 2', 'h2', 1));
ROLLBACK;
SELECT facts(check_slot('lane 2'));
