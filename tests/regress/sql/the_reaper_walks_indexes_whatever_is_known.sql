--
-- The statements of the reaper are planned when a session first needs them, and
-- that can be while the tables are almost empty and nobody has counted their rows
-- since. Thousands of rows later they still read each row a few times, and not
-- once for each other row. What is read is counted by the server.
--
SELECT current_database() AS home \gset
CREATE DATABASE regress_claims_walks;
\c regress_claims_walks
SET client_min_messages = warning;
CREATE EXTENSION pg_claims CASCADE;
ALTER TABLE claims.slot_claims SET (autovacuum_enabled = off);
ALTER TABLE claims.pools SET (autovacuum_enabled = off);
ALTER TABLE claims.keys SET (autovacuum_enabled = off);

-- How often a row was read in this transaction, by way of an index or of the whole table.
CREATE FUNCTION reads(name regclass) RETURNS bigint LANGUAGE sql AS $$
  SELECT pg_stat_get_xact_tuples_returned(name) + sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint
    FROM pg_index WHERE indrelid = name
$$;

-- Here all of them are planned, that which gives units back by a claim.
SELECT set_capacity('pool', 3000) ->> 'outcome' AS outcome;
SELECT claim_units('pool', 'h0', ttl => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.01);
VACUUM ANALYZE claims.slot_claims, claims.pools, claims.keys;
SELECT claim_units('pool', 'h0', 3000, '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.01);
SELECT reap_stale_claims() ->> 'expired' AS expired;

-- Slots.
BEGIN;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT 'stall ' || n, 1, 'h', 'claimed', now() - interval '4 hours', now() - interval '2 hours' - n * interval '1 ms',
       CASE WHEN n % 3 = 0 THEN 'review' ELSE 'release' END
  FROM generate_series(1, 3000) AS n;
SELECT reads('claims.slot_claims') AS before \gset
SELECT answer ->> 'expired' AS expired, answer ->> 'in_review' AS in_review, answer ->> 'skipped' AS skipped
  FROM reap_stale_claims() AS answer;
SELECT reads('claims.slot_claims') - :before < 10 * 3000 AS each_a_few_times;
COMMIT;

-- Units of one pool.
BEGIN;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, units, claimed_at, expires_at, on_expiry)
SELECT 'pool', n + 2, 'h', 'claimed', 1, now() - interval '4 hours', now() - interval '2 hours' - n * interval '1 ms', 'release'
  FROM generate_series(1, 3000) AS n;
UPDATE claims.pools SET taken = 3000;
SELECT reads('claims.slot_claims') AS before \gset
SELECT answer ->> 'expired' AS expired, answer ->> 'skipped' AS skipped FROM reap_stale_claims() AS answer;
SELECT reads('claims.slot_claims') - :before < 10 * 3000 AS each_a_few_times;
SELECT taken FROM claims.pools;
ROLLBACK;

-- Each of many pools.
BEGIN;
INSERT INTO claims.pools (slot_id, capacity, taken) SELECT 'pool ' || n, 10, 10 FROM generate_series(1, 300) AS n;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, units, claimed_at, expires_at, on_expiry)
SELECT 'pool ' || n, token, 'h', 'claimed', 1, now() - interval '4 hours', now() - interval '2 hours' - token * interval '1 ms', 'release'
  FROM generate_series(1, 300) AS n, generate_series(1, 10) AS token;
SELECT reads('claims.slot_claims') AS before \gset
SELECT answer ->> 'expired' AS expired, answer ->> 'skipped' AS skipped FROM reap_stale_claims() AS answer;
SELECT reads('claims.slot_claims') - :before < 10 * 3000 AS each_a_few_times;
SELECT sum(taken) FROM claims.pools;
ROLLBACK;

-- The retention: the last claims of many slots and the long history of one, and keys.
DELETE FROM claims.reaper_runs;
BEGIN;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, ended_at, on_expiry)
SELECT 'hall ' || n, 1, 'h', 'released', now() - interval '41 days', now() - interval '40 days' - n * interval '1 ms', 'release'
  FROM generate_series(1, 3000) AS n
UNION ALL
SELECT 'room', n, 'h', 'released', now() - interval '41 days', now() - interval '40 days' + n * interval '1 ms', 'release'
  FROM generate_series(1, 3000) AS n;
INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at)
SELECT 'event ' || n, 'done', 'h', 1, 1, now() - interval '41 days', now() - interval '41 days',
       now() - interval '40 days' - n * interval '1 ms'
  FROM generate_series(1, 3000) AS n;
SELECT reads('claims.slot_claims') AS before, reads('claims.keys') AS before_keys \gset
SELECT answer ->> 'purged_claims' AS purged_claims, answer ->> 'purged_keys' AS purged_keys FROM reap_stale_claims() AS answer;
SELECT reads('claims.slot_claims') - :before < 10 * 6000 AS each_a_few_times,
       reads('claims.keys') - :before_keys < 10 * 3000 AS each_a_few_times;
COMMIT;

SELECT answer - 'message' AS answer FROM check_claims() AS answer;
\c :home
DROP DATABASE regress_claims_walks;
