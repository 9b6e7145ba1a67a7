--
-- A timeout does not prove that the booking failed. Released in doubt, a claim
-- is in review: it blocks the slot until somebody has looked at the real
-- calendar.
--
SELECT facts(claim_slot('ward 1', 'run of ward 1', '1 hour'));
SELECT facts(release_slot('ward 1', 'run of ward 1', 1, 'calendar timed out', in_doubt => true));
SELECT token, status, expires_at <= clock_timestamp() AS lease_over, ended_at, reason FROM claims.slot_claims WHERE slot_id = 'ward 1';
SELECT facts(claim_slot('ward 1', 'h2'));
SELECT facts(claim_slot('ward 1', 'run of ward 1'));
SELECT facts(check_slot('ward 1'));
SELECT release_slot('ward 1', 'run of ward 1', 1) ->> 'message' AS message;

-- It stays there, whoever releases it once more and how.
SELECT facts(release_slot('ward 1', 'run of ward 1', 1, in_doubt => true));
SELECT facts(release_slot('ward 1', 'run of ward 1', 1));
SELECT facts(extend_slot('ward 1', 'run of ward 1', 1));
SELECT facts(cancel_slot('ward 1', 'run of ward 1', 1));
SELECT facts(release_holder('run of ward 1')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('ward 1');

-- Confirmed, it was late.
SELECT facts(confirm_slot('ward 1', 'run of ward 1', 1));

-- In doubt after the lease ran out, nobody having looked at it since.
SELECT expired_claim('ward 2', 'h1');
SELECT facts(release_slot('ward 2', 'h1', 1, in_doubt => true));
SELECT facts(claim_slot('ward 2', 'h2'));

-- And where it had ended already: a row in review is appended.
SELECT expired_claim('ward 3', 'h1');
SELECT facts(claim_slot('ward 3', 'h2'));
SELECT facts(release_slot('ward 3', 'h2', 2));
SELECT facts(release_slot('ward 3', 'h1', 1, in_doubt => true));
SELECT facts(release_slot('ward 3', 'h1', 1, in_doubt => true));
SELECT * FROM claims_of('ward 3');
SELECT facts(resolve_slot('ward 3', 'h1', 1, 'booked'));
SELECT * FROM claims_of('ward 3');

-- Too late: it went to another, who is not disturbed.
SELECT expired_claim('ward 4', 'h1');
SELECT facts(claim_slot('ward 4', 'h2', '1 hour'));
SELECT facts(release_slot('ward 4', 'h1', 1, in_doubt => true));
SELECT * FROM claims_of('ward 4');
