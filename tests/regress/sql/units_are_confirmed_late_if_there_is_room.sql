--
-- A confirm that comes after the lease books the units if they are still to be had, and
-- is insufficient otherwise; whether the reaper has been there makes no difference.
--
CREATE FUNCTION pg_temp.expired_units(slot text, holder text, units int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb := claim_units(slot, holder, units, ttl => '1 ms');
BEGIN
  PERFORM pg_sleep(0.02);
  RETURN answer->>'token';
END
$$;

-- Nobody else has come.
SELECT set_capacity('vase 1', 3) ->> 'outcome' AS outcome, pg_temp.expired_units('vase 1', 'h1', 2) AS token;
SELECT facts(confirm_slot('vase 1', 'h1', 1));
SELECT facts(confirm_slot('vase 1', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT taken FROM claims.pools WHERE slot_id = 'vase 1';

-- Nor after the reaper.
SELECT set_capacity('vase 2', 3) ->> 'outcome' AS outcome, pg_temp.expired_units('vase 2', 'h1', 2) AS token;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('vase 2', 'h1', 1));
SELECT facts(confirm_slot('vase 2', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT taken FROM claims.pools WHERE slot_id = 'vase 2';
SELECT * FROM claims_of('vase 2');

-- Somebody has, but there is enough.
SELECT set_capacity('vase 3', 3) ->> 'outcome' AS outcome, pg_temp.expired_units('vase 3', 'h1', 2) AS token,
       claim_units('vase 3', 'h2') ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('vase 3', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT taken FROM claims.pools WHERE slot_id = 'vase 3';

-- Not enough any more: all or none. Nothing changes.
SELECT set_capacity('vase 4', 3) ->> 'outcome' AS outcome, pg_temp.expired_units('vase 4', 'h1', 2) AS token,
       claim_units('vase 4', 'h2', 2, '1 hour') ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('vase 4', 'h1', 1));
SELECT facts(release_slot('vase 4', 'h1', 1, in_doubt => true));
SELECT facts(release_slot('vase 4', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT facts(extend_slot('vase 4', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT taken FROM claims.pools WHERE slot_id = 'vase 4';
SELECT * FROM claims_of('vase 4');
SELECT release_slot('vase 4', 'h2', 2) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('vase 4', 'h1', 1)) ->> 'outcome' AS outcome;

-- The capacity has been lowered meanwhile: there is no room, reaped or not.
SELECT set_capacity('vase 5', 1) ->> 'outcome' AS outcome, pg_temp.expired_units('vase 5', 'h1', 1) AS token,
       set_capacity('vase 5', 0) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('vase 5', 'h1', 1));
SELECT set_capacity('vase 6', 1) ->> 'outcome' AS outcome, pg_temp.expired_units('vase 6', 'h1', 1) AS token,
       set_capacity('vase 6', 0) ->> 'outcome' AS outcome, reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('vase 6', 'h1', 1));
SELECT facts(check_claims());
