--
-- However many claims have expired, one call ends them all, in batches of ten
-- thousand. Nothing is skipped between two batches, not even where many claims
-- share an instant.
--
SELECT current_database() AS home \gset
CREATE DATABASE regress_claims_many;
\c regress_claims_many
SET client_min_messages = warning;
CREATE EXTENSION pg_claims CASCADE;

-- Three batches of claims that expired one after the other, the oldest of them
-- long ago,
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT 'stall ' || n, 1, 'h', 'claimed', now() - interval '4 hours',
       now() - CASE WHEN n <= 10000 THEN interval '3 hours' ELSE interval '1 hour' END - n * interval '1 ms',
       CASE WHEN n % 3 = 0 THEN 'review' ELSE 'release' END
  FROM generate_series(1, 30000) AS n;
-- and as many that expired all at one instant, in the middle of those.
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT 'box ' || n, 1, 'h', 'claimed', now() - interval '2 hours', now() - interval '1 hour 15 seconds',
       'release'
  FROM generate_series(1, 25000) AS n;
-- Some are neither expired nor claimed any more.
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT 'desk ' || n, 1, 'h', 'claimed', now(), now() + interval '1 hour', 'release' FROM generate_series(1, 1000) AS n;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
SELECT 'hall ' || n, 1, 'h', 'booked', now(), 'release' FROM generate_series(1, 1000) AS n;

SELECT answer - ARRAY['took_ms', 'message'] AS answer FROM reap_stale_claims('2 hours') AS answer;
SELECT answer - ARRAY['took_ms', 'message'] AS answer FROM reap_stale_claims() AS answer;
SELECT answer - ARRAY['took_ms', 'message'] AS answer FROM reap_stale_claims() AS answer;
SELECT split_part(slot_id, ' ', 1) AS kind, status, ended_by, ended_at IS NULL AS active, expires_at IS NULL AS no_expiry, count(*)
  FROM claims.slot_claims GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2;
SELECT answer - 'message' AS answer FROM check_claims() AS answer;

-- The retention deletes in batches as well: each slot has a later claim now, but
-- for the last thousand of each kind.
UPDATE claims.slot_claims SET ended_at = now() - interval '40 days' WHERE ended_at IS NOT NULL;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
SELECT slot_id, 2, 'h', 'booked', now(), 'release'
  FROM claims.slot_claims WHERE ended_at IS NOT NULL AND split_part(slot_id, ' ', 2)::int <= 24000;
INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at, result)
SELECT 'event ' || n, (ARRAY['done', 'failed', 'rejected'])[1 + n % 3], 'h', 1, 1, now() - interval '41 days', now() - interval '41 days',
       now() - interval '40 days' - n % 100 * interval '1 s', 'null'
  FROM generate_series(1, 30000) AS n;
INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at)
SELECT 'event ' || n, 'pending', 'h', 1, 1, now() - interval '41 days', now() - interval '41 days' FROM generate_series(30001, 30010) AS n;

-- It has looked already within this hour, so it does not.
SELECT answer - ARRAY['took_ms', 'message'] AS answer FROM reap_stale_claims() AS answer;
UPDATE claims.reaper_runs SET started_at = started_at - interval '1 hour';
SELECT answer - ARRAY['took_ms', 'message'] AS answer FROM reap_stale_claims() AS answer;
SELECT split_part(slot_id, ' ', 1) AS kind, token, status, count(*) FROM claims.slot_claims GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT status, count(*) FROM claims.keys GROUP BY 1;

-- The runs themselves are kept as long as all the rest.
UPDATE claims.reaper_runs SET started_at = started_at - interval '31 days';
SELECT count(*) FROM claims.reaper_runs;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT expired, in_review, skipped, keys_overdue, purged_claims, purged_keys, older_than, role = current_user AS role, took_ms >= 0 AS took
  FROM claims.reaper_runs;

-- A second claim of any slot has a higher token than all before.
SELECT claim_slot('box 1', 'h2') ->> 'status' AS status;
SELECT claim_slot('box 25000', 'h2') ->> 'token' AS token;
SELECT cancel_slot('box 1', 'h2', 2) ->> 'outcome' AS outcome;
SELECT claim_slot('box 1', 'h2') ->> 'token' AS token;

\c :home
DROP DATABASE regress_claims_many;
