--
-- Somebody's trigger on the table of claims may itself claim, and may fail: a
-- call within a call works, and one that failed in the middle leaves nothing
-- behind, neither in the table nor in the session. (The trigger runs under the
-- search_path of the outer call, and so names the schema.)
--
CREATE FUNCTION claim_the_rest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.slot_id = 'nest 1' THEN
    RAISE NOTICE '%', public.claim_slot('nest 2', NEW.holder) ->> 'outcome';
    RAISE NOTICE '%', public.confirm_slot('nest 2', NEW.holder) ->> 'outcome';
    RAISE NOTICE '%', public.claim_slot('nest 1', 'another') ->> 'outcome';
  ELSIF NEW.slot_id = 'nest 3' THEN
    RAISE EXCEPTION 'no, not this one';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER claim_the_rest AFTER INSERT ON claims.slot_claims FOR EACH ROW EXECUTE FUNCTION claim_the_rest();

SELECT facts(claim_slot('nest 1', 'h1', '1 hour'));
\set VERBOSITY terse
SELECT facts(claim_slot('nest 3', 'h1', '1 hour'));
\set VERBOSITY default
SELECT facts(claim_slot('nest 4', 'h1', '1 hour'));

DROP TRIGGER claim_the_rest ON claims.slot_claims;
DROP FUNCTION claim_the_rest;

SELECT facts(claim_slot('nest 3', 'h1', '1 hour'));
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id LIKE 'nest _' ORDER BY 1, 2;

-- One call as argument of another, of the same kind.
SELECT facts(confirm_slot('nest 3', 'h1', (confirm_slot('nest 4', 'h1', (claim_slot('nest 5', 'h1', '1 hour') ->> 'token')::bigint) ->> 'token')::bigint));

-- In a loop over an open cursor, and from a function that is called stable.
DO $$
DECLARE
  found record;
BEGIN
  FOR found IN SELECT slot_id, holder, token FROM claims.slot_claims WHERE slot_id LIKE 'nest _' AND status = 'claimed' ORDER BY slot_id LOOP
    RAISE NOTICE '%: %', found.slot_id, release_slot(found.slot_id, found.holder, found.token) ->> 'outcome';
  END LOOP;
END
$$;
CREATE FUNCTION so_called_stable() RETURNS text STABLE LANGUAGE sql AS $$ SELECT claim_slot('nest 6', 'h1') ->> 'outcome' $$;
SELECT so_called_stable();
SELECT so_called_stable();
DROP FUNCTION so_called_stable;
