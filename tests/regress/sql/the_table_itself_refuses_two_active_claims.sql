--
-- Whatever the code does, the database refuses two active claims of one slot,
-- a token used twice, and two active claims of overlapping periods.
--
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry)
VALUES ('vault 1', 1, 'h1', 'claimed', clock_timestamp(), clock_timestamp() + interval '1 hour', 'release');

CREATE FUNCTION inserted(token bigint, period tstzrange DEFAULT NULL, ended boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  broken text;
BEGIN
  INSERT INTO claims.slot_claims (slot_id, token, holder, status, period, claimed_at, expires_at, on_expiry, ended_at)
  VALUES (CASE WHEN period IS NULL THEN 'vault 1' ELSE 'vault 2' END, token, 'h2', CASE WHEN ended THEN 'released' ELSE 'claimed' END,
          period, clock_timestamp(), CASE WHEN NOT ended THEN clock_timestamp() + interval '1 hour' END, 'release',
          CASE WHEN ended THEN clock_timestamp() END);
  RETURN 'inserted';
EXCEPTION WHEN unique_violation OR exclusion_violation OR check_violation THEN
  RETURN SQLSTATE;
END
$$;

SELECT inserted(1);
SELECT inserted(2);
SELECT inserted(3, ended => true);

SELECT inserted(1, '[2030-01-01 09:00Z, 2030-01-01 10:00Z)');
SELECT inserted(2, '[2030-01-01 09:59Z, 2030-01-01 11:00Z)');
SELECT inserted(3, '[2030-01-01 10:00Z, 2030-01-01 11:00Z)');
SELECT inserted(4, '[2030-01-01 08:00Z, 2030-01-01 12:00Z)', ended => true);

DROP FUNCTION inserted;

-- What a row may not say.
SELECT state FROM refusal($$
  INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
  VALUES ('vault 3', 1, 'h1', 'lent', clock_timestamp(), 'release')$$);

-- What decides: each of these contains slot_id, so that the table can be sharded
-- by it.
SELECT c.relname, pg_get_indexdef(c.oid) AS definition
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
 WHERE i.indrelid = 'claims.slot_claims'::regclass AND (i.indisunique OR i.indisexclusion)
 ORDER BY 1;

DELETE FROM claims.slot_claims WHERE slot_id LIKE 'vault _';
