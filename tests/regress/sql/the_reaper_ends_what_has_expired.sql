--
-- The reaper writes down what has expired. Nothing depends on it.
--
-- What the other files have left behind, first.
SELECT reap_stale_claims() ->> 'outcome' AS outcome;

SELECT expired_claim('stall 1', 'h1'), expired_claim('stall 2', 'h1'), expired_claim('stall 3', 'h1', 'review');
SELECT facts(claim_slot('stall 4', 'h1', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('stall 5', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('stall 5', 'h1')) ->> 'outcome' AS outcome;

-- Only what expired longer ago than is said.
SELECT facts(reap_stale_claims('1 hour')) - ARRAY['took_ms', 'keys_overdue'] AS facts;
SELECT facts(reap_stale_claims()) - ARRAY['took_ms', 'keys_overdue'] AS facts;
SELECT slot_id, token, status, ended_at IS NOT NULL AS ended, ended_by, expires_at IS NOT NULL AS expires
  FROM claims.slot_claims WHERE slot_id LIKE 'stall _' ORDER BY slot_id;
SELECT facts(reap_stale_claims()) - ARRAY['took_ms', 'keys_overdue'] AS facts;
SELECT reap_stale_claims() ->> 'message' AS message;

-- What was free is free, what is for review is for review, and the next token is
-- the next one.
SELECT facts(check_slot('stall 1'));
SELECT facts(check_slot('stall 3'));
SELECT facts(claim_slot('stall 1', 'h2'));
SELECT facts(resolve_slot('stall 3', 'h1', 1, 'released')) ->> 'outcome' AS outcome;

-- case 20: confirmed after the clean-up. It is the same as without it.
SELECT expired_claim('case 20', 'h1');
SELECT facts(reap_stale_claims()) -> 'expired' AS expired;
SELECT facts(extend_slot('case 20', 'h1', 1));
SELECT facts(confirm_slot('case 20', 'h1', 1, '{"event": "e1"}'));
SELECT facts(confirm_slot('case 20', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('case 20');
SELECT expired_claim('case 20 reaped', 'h1');
SELECT facts(reap_stale_claims()) -> 'expired' AS expired;
SELECT facts(claim_slot('case 20 reaped', 'h2', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('case 20 reaped', 'h1', 1));

-- In doubt, it is blocked again.
SELECT expired_claim('stall 6', 'h1');
SELECT facts(reap_stale_claims()) -> 'expired' AS expired;
SELECT facts(release_slot('stall 6', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT facts(release_slot('stall 6', 'h1', 1, in_doubt => true)) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('stall 6');

-- A pending key is counted, and left to begin_key.
SELECT begin_key('stall evt', 'h1', lease => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT (reap_stale_claims() ->> 'keys_overdue')::int > 0 AS counted;
SELECT facts(check_key('stall evt')) ->> 'outcome' AS outcome;

-- Each run is on record.
SELECT count(*) > 5 AS runs, bool_and(role = current_user) AS role, max(started_at) <= clock_timestamp() AS started_at FROM claims.reaper_runs;
SELECT last_reap_age < '1 minute' AS last_reap_age, expired_not_reaped, open_claims > 0 AS open_claims, in_review > 0 AS in_review,
       keys_unknown > 0 AS keys_unknown, oldest_open_claim <= clock_timestamp() AS oldest_open_claim
  FROM claims.health;
SELECT expired_claim('stall 7', 'h1'), expired_claim('stall 8', 'h1', 'review');
SELECT expired_not_reaped FROM claims.health;

-- Bad input, and where it cannot write.
SELECT reap_stale_claims('-1 hour');
\echo :LAST_ERROR_SQLSTATE
SELECT reap_stale_claims(NULL);
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT state, message FROM refusal('SELECT reap_stale_claims()');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT state, message FROM refusal('SELECT reap_stale_claims()');
COMMIT;
