--
-- With pg_claims.notify on, what is announced stays far below the 8,000 bytes
-- that NOTIFY takes, however long the names are and however they are written.
--
SET pg_claims.notify = on;
SELECT answer->>'outcome' AS outcome, length(answer->>'slot_id') AS slot_id, length(answer->>'holder') AS holder
  FROM claim_slot('bell ' || repeat('"', 495), repeat('\', 500), '1 hour') AS answer;
SELECT confirm_slot('bell ' || repeat('"', 495), repeat('\', 500), 1) ->> 'outcome' AS outcome;
SELECT begin_key('bell ' || repeat('"', 495), repeat('\', 500)) ->> 'outcome' AS outcome;
RESET pg_claims.notify;
