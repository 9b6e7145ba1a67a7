--
-- claims.health is exactly one row, whatever there is, and says how things stand
-- at this moment, whether or not the reaper runs.
--
SELECT current_database() AS home \gset
CREATE DATABASE regress_claims_health;
\c regress_claims_health
SET client_min_messages = warning;
CREATE EXTENSION pg_claims CASCADE;

SELECT * FROM claims.health;

-- Two open, one of them older; two expired; two in review, one of which nobody
-- has written down; one booked; one released.
SELECT claim_slot('pier 1', 'h1', '1 hour') ->> 'claimed_at' AS oldest \gset
DO $$
BEGIN
  PERFORM claim_slot('pier 2', 'h1', '1 hour');
  PERFORM claim_slot('pier 3', 'h1', '1 ms');
  PERFORM claim_slot('pier 4', 'h1', '1 ms');
  PERFORM claim_slot('pier 5', 'h1', '1 hour', on_expiry => 'review');
  PERFORM release_slot('pier 5', 'h1', 1, in_doubt => true);
  PERFORM claim_slot('pier 6', 'h1', '1 ms', on_expiry => 'review');
  PERFORM claim_slot('pier 7', 'h1');
  PERFORM confirm_slot('pier 7', 'h1', 1);
  PERFORM claim_slot('pier 8', 'h1');
  PERFORM release_slot('pier 8', 'h1', 1);
  PERFORM begin_key('event 1', 'h1', lease => '1 hour');
  PERFORM begin_key('event 2', 'h1', lease => '1 ms');
  PERFORM begin_key('event 3', 'h1');
  PERFORM finish_key('event 3', 'h1', 1);
  PERFORM pg_sleep(0.02);
END
$$;
SELECT open_claims, expired_not_reaped, in_review, keys_pending, keys_unknown, last_reap_at, last_reap_age,
       oldest_open_claim = :'oldest' AS oldest_open_claim
  FROM claims.health;

SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT open_claims, expired_not_reaped, in_review, keys_pending, keys_unknown,
       last_reap_at = (SELECT started_at FROM claims.reaper_runs) AS last_reap_at,
       last_reap_age BETWEEN '0' AND '1 minute' AS last_reap_age,
       oldest_open_claim = :'oldest' AS oldest_open_claim
  FROM claims.health;
-- The same from the other views.
SELECT (SELECT in_review FROM claims.health) = (SELECT count(*) FROM claims.needs_check) AS in_review;

-- It looks at what is open, never at all that has ever been booked.
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
SELECT 'hall ' || n, 1, 'h', 'booked', now(), 'release' FROM generate_series(1, 20000) AS n;
INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at, result)
SELECT 'done ' || n, 'done', 'h', 1, 1, now(), now(), now(), 'null' FROM generate_series(1, 20000) AS n;
ANALYZE claims.slot_claims, claims.keys;
CREATE FUNCTION scanned(query text) RETURNS TABLE (scan text) LANGUAGE plpgsql AS $$
BEGIN
  FOR scan IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    scan := substring(scan FROM 'Seq Scan on \w+|slot_claims_\w+|keys_\w+');
    IF scan LIKE 'slot_claims_%idx' OR scan LIKE 'keys_%idx' OR scan LIKE 'Seq Scan on slot_claims%' OR scan LIKE 'Seq Scan on keys%' THEN
      RETURN NEXT;
    END IF;
  END LOOP;
END
$$;
SELECT DISTINCT scan FROM scanned('SELECT * FROM claims.health') ORDER BY 1;

\c :home
DROP DATABASE regress_claims_health;
