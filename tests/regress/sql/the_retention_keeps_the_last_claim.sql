--
-- Ended claims and finished keys are deleted once they are older than
-- pg_claims.retention: never the last claim of a slot, so that a token is never
-- given twice.
--
SELECT facts(claim_slot('well 1', 'h1')) ->> 'token' AS token;
SELECT facts(release_slot('well 1', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('well 1', 'h2')) ->> 'token' AS token;
SELECT facts(release_slot('well 1', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('well 1', 'h3')) ->> 'token' AS token;
SELECT facts(release_slot('well 1', 'h3')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('well 2', 'h1')) ->> 'token' AS token;
SELECT facts(release_slot('well 2', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('well 2', 'h2')) ->> 'token' AS token;
SELECT facts(confirm_slot('well 2', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('well evt 1', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(finish_key('well evt 1', 'h1', 1, '1')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('well evt 2', 'h1')) ->> 'outcome' AS outcome;

-- A month and a half goes by; and the reaper has not looked for an hour.
UPDATE claims.slot_claims SET claimed_at = claimed_at - interval '45 days', ended_at = ended_at - interval '45 days'
 WHERE slot_id LIKE 'well _';
UPDATE claims.keys SET started_at = started_at - interval '45 days', lease_expires_at = lease_expires_at - interval '45 days',
                       finished_at = finished_at - interval '45 days'
 WHERE key LIKE 'well evt _';
DELETE FROM claims.reaper_runs;

-- Kept for longer than that, nothing goes.
SET pg_claims.retention = '60 d';
SELECT facts(reap_stale_claims()) -> 'purged_claims' AS purged_claims;
DELETE FROM claims.reaper_runs;
RESET pg_claims.retention;
SELECT answer -> 'purged_claims' AS purged_claims, answer -> 'purged_keys' AS purged_keys FROM reap_stale_claims() AS answer;
SELECT slot_id, token, status FROM claims.slot_claims WHERE slot_id LIKE 'well _' ORDER BY 1, 2;
SELECT key, status FROM claims.keys WHERE key LIKE 'well evt _' ORDER BY 1;

-- It looks once an hour.
SELECT reap_stale_claims() ? 'purged_claims' AS looked;

-- The next token is still greater than any before.
SELECT facts(claim_slot('well 1', 'h4')) ->> 'token' AS token;
