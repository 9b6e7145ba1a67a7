--
-- A claim whose lease has run out holds nobody up, whether a reaper ever runs
-- or not (case 32). The old claim stays in the table as what it became.
--
SELECT expired_claim('van 1', 'h1');
SELECT facts(check_slot('van 1'));
SELECT * FROM claims_of('van 1');

SELECT facts(claim_slot('van 1', 'h2', '1 hour'));
SELECT * FROM claims_of('van 1');

SELECT facts(claim_slot('van 1', 'h3'));

-- Its end is on record.
SELECT token, status, ended_at IS NOT NULL AS ended, ended_by, expires_at IS NOT NULL AS expires
  FROM claims.slot_claims WHERE slot_id = 'van 1' ORDER BY token;

-- Over and over: the token only rises.
DO $$
BEGIN
  FOR i IN 1..20 LOOP
    PERFORM expired_claim('van 2', 'h' || i);
  END LOOP;
END
$$;
SELECT count(*), min(token), max(token), count(*) FILTER (WHERE ended_at IS NULL) AS active
  FROM claims.slot_claims WHERE slot_id = 'van 2';
