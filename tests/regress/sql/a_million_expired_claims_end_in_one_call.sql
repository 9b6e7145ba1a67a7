--
-- A million expired claims are no more to one call than ten thousand: it keeps
-- nothing but counts, so the memory of its backend does not grow with them.
--
SELECT current_database() AS home \gset
CREATE DATABASE regress_claims_million;
\c regress_claims_million
SET client_min_messages = warning;
CREATE EXTENSION pg_claims CASCADE;

INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT 'stall ' || n, 1, 'h', 'claimed', now() - interval '4 hours', now() - interval '2 hours' - n * interval '1 ms', 'release'
  FROM generate_series(1, 10000) AS n;
SELECT answer ->> 'expired' AS expired FROM reap_stale_claims() AS answer;
SELECT sum(total_bytes) AS after_ten_thousand FROM pg_backend_memory_contexts \gset

INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
SELECT 'box ' || n, 1, 'h', 'claimed', now() - interval '4 hours', now() - interval '2 hours' - n * interval '1 ms', 'release'
  FROM generate_series(1, 1000000) AS n;
SELECT answer ->> 'expired' AS expired, answer ->> 'skipped' AS skipped FROM reap_stale_claims() AS answer;
SELECT sum(total_bytes) - :after_ten_thousand < 4 * 1024 * 1024 AS within_4_mb FROM pg_backend_memory_contexts;
SELECT status, count(*) FROM claims.slot_claims GROUP BY status;

\c :home
DROP DATABASE regress_claims_million;
