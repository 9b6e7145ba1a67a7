--
-- check_claims looks for what must not be, whoever has done it. Here somebody
-- with a superuser's rights takes the constraints away and writes into the
-- tables.
--
SELECT facts(check_claims());

CREATE FUNCTION found() RETURNS TABLE (what text, slot_id text, key text, tokens text) LANGUAGE sql AS $$
  SELECT v->>'what', v->>'slot_id', v->>'key', v->>'tokens'
    FROM check_claims() AS answer, jsonb_array_elements(answer->'violations') AS v
   WHERE NOT (answer->>'ok')::boolean AND answer->>'outcome' = 'unsound'
   ORDER BY 1, 2, 3
$$;
SELECT facts(claim_slot('dam 1', 'h1', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('dam 2', 'h1', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(release_slot('dam 2', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('dam 2', 'h1', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('dam evt', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(finish_key('dam evt', 'h1', 1, '1')) ->> 'outcome' AS outcome;

-- Two active claims of one slot, and the index that would refuse them gone.
BEGIN;
DROP INDEX claims.slot_claims_active_key;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
VALUES ('dam 1', 2, 'h2', 'booked', clock_timestamp(), 'release');
SELECT * FROM found();
ROLLBACK;

-- Active below the last token.
BEGIN;
ALTER TABLE claims.slot_claims DROP CONSTRAINT slot_claims_status_check;
UPDATE claims.slot_claims SET ended_at = clock_timestamp() WHERE slot_id = 'dam 2' AND token = 2;
UPDATE claims.slot_claims SET ended_at = NULL, status = 'booked' WHERE slot_id = 'dam 2' AND token = 1;
SELECT * FROM found();
ROLLBACK;

-- A booking with an expiry, a claim without, an unknown status.
BEGIN;
ALTER TABLE claims.slot_claims DROP CONSTRAINT slot_claims_status_check;
UPDATE claims.slot_claims SET status = 'booked' WHERE slot_id = 'dam 1';
UPDATE claims.slot_claims SET expires_at = NULL WHERE slot_id = 'dam 2' AND token = 2;
UPDATE claims.slot_claims SET status = 'lent' WHERE slot_id = 'dam 2' AND token = 1;
SELECT * FROM found();
ROLLBACK;

-- A key finished without a result.
BEGIN;
UPDATE claims.keys SET result = NULL WHERE key = 'dam evt';
SELECT * FROM found();
ROLLBACK;

-- What it means is said.
BEGIN;
UPDATE claims.keys SET result = NULL WHERE key = 'dam evt';
SELECT facts(check_claims());
ROLLBACK;

-- It works where nothing can be written.
BEGIN READ ONLY;
SELECT facts(check_claims()) ->> 'outcome' AS outcome;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT facts(check_claims()) ->> 'outcome' AS outcome;
COMMIT;
DROP FUNCTION found;
