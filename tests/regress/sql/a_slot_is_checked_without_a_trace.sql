--
-- case 12: a lookup that finds nothing ended the workflow in silence. A check
-- always answers, writes nothing, and ok means that a claim now would succeed.
--
SELECT facts(check_slot('case 12'));
SELECT check_slot('case 12') ->> 'message' AS message;
SELECT * FROM claims_of('case 12');

SELECT facts(claim_slot('ferry 1', 'h1', '1 hour'));
SELECT facts(check_slot('ferry 1'));
SELECT (check_slot('ferry 1') ->> 'remaining_ms')::bigint BETWEEN 3500000 AND 3600000 AS an_hour;
SELECT check_slot('ferry 1') ->> 'message' AS message;
SELECT facts(confirm_slot('ferry 1', 'h1', 1));
SELECT facts(check_slot('ferry 1'));
SELECT facts(cancel_slot('ferry 1', 'desk', 1));
SELECT facts(check_slot('ferry 1'));

-- An expired claim is free, whether anybody has written that down or not.
SELECT expired_claim('ferry 2', 'h1');
SELECT facts(check_slot('ferry 2'));
SELECT * FROM claims_of('ferry 2');
SELECT facts(claim_slot('ferry 2', 'h2'));

-- The hint is the call that would free it safely.
SELECT facts(claim_slot('ferry 3', 'h1', '1 hour'));
SELECT check_slot('ferry 3') ->> 'hint' AS hint;
SELECT facts(release_slot('ferry 3', 'h1', in_doubt => true));
SELECT check_slot('ferry 3') ->> 'hint' AS hint;
SELECT facts(resolve_slot('ferry 3', 'h1', 1, 'booked'));
SELECT check_slot('ferry 3') ->> 'hint' AS hint;
SELECT facts(cancel_slot('ferry 3', 'desk', 1));
SELECT check_slot('ferry 3') ->> 'hint' AS hint;

-- What is in a name stays in it.
SELECT facts(claim_slot('ferry ''4''; DROP TABLE', 'o''h', '1 hour'));
SELECT check_slot('ferry ''4''; DROP TABLE') ->> 'hint' AS hint;

BEGIN;
SELECT facts(check_slot('ferry 1'));
SELECT facts(check_slot('ferry 3'));
SELECT facts(check_slot('case 12'));
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
