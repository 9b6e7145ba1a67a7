--
-- A claim that has ended is confirmed late while nobody else is there: it gets
-- a new row, booked, whose origin is the confirmed token.
--
-- Released by an error workflow.
SELECT facts(claim_slot('suite 1', 'run of suite 1'));
SELECT facts(release_holder('run of suite 1', 'execution failed')) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('suite 1', 'run of suite 1', 1, '{"event": "e1"}'));
SELECT * FROM claims_of('suite 1');
SELECT token, result FROM claims.slot_claims WHERE slot_id = 'suite 1' ORDER BY token;

-- Released by the run itself.
SELECT facts(claim_slot('suite 2', 'h1'));
SELECT facts(release_slot('suite 2', 'h1', 1));
SELECT facts(confirm_slot('suite 2', 'h1'));

-- Taken over, and the other one has gone again (as after the reaper).
SELECT expired_claim('suite 3', 'h1');
SELECT facts(claim_slot('suite 3', 'h2'));
SELECT facts(release_slot('suite 3', 'h2', 2));
SELECT facts(confirm_slot('suite 3', 'h1', 1));
SELECT * FROM claims_of('suite 3');

-- Resolved as released.
SELECT facts(claim_slot('suite 4', 'h1'));
SELECT facts(release_slot('suite 4', 'h1', 1, in_doubt => true));
SELECT facts(resolve_slot('suite 4', 'h1', 1, 'released'));
SELECT facts(confirm_slot('suite 4', 'h1', 1));

-- Only another's expired claim is there: it ends, and the late one is booked.
SELECT expired_claim('suite 5', 'h1');
SELECT expired_claim('suite 5', 'h2');
SELECT facts(confirm_slot('suite 5', 'h1', 1));
SELECT * FROM claims_of('suite 5');
SELECT facts(confirm_slot('suite 5', 'h2', 2));

-- But not where that other claim is for review when it expires.
SELECT expired_claim('suite 6', 'h1');
SELECT expired_claim('suite 6', 'h2', 'review');
SELECT facts(confirm_slot('suite 6', 'h1', 1));
SELECT * FROM claims_of('suite 6');

-- The other claim may be one's own.
SELECT expired_claim('suite 7', 'h1');
SELECT facts(claim_slot('suite 7', 'h1', '1 hour'));
SELECT facts(confirm_slot('suite 7', 'h1', 1));
SELECT facts(confirm_slot('suite 7', 'h1', 2));
SELECT facts(confirm_slot('suite 7', 'h1', 1));
