--
-- The extension comes with what it needs, and the helpers of the other files
-- are made here.
--
CREATE EXTENSION pg_claims CASCADE;

SELECT extname FROM pg_extension WHERE extname IN ('pg_claims', 'btree_gist') ORDER BY 1;

-- Every answer keeps the contract: one JSON object with ok, outcome and a
-- message for a person; times in UTC; milliseconds as whole numbers; no nulls;
-- and nothing named "error", on which n8n would run the node again.
CREATE FUNCTION broken_contract(answer jsonb) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN jsonb_typeof(answer) IS DISTINCT FROM 'object' THEN 'not an object'
    WHEN jsonb_typeof(answer->'ok') IS DISTINCT FROM 'boolean' THEN 'ok is not a boolean'
    WHEN coalesce(answer->>'outcome', '') !~ '^[a-z_]+$' THEN 'outcome is not one word'
    WHEN coalesce(answer->>'message', '') !~ '^[[:upper:]].*[.!?]$' THEN 'message is not a sentence'
    WHEN answer ? 'error' THEN 'a field named error'
    ELSE (
      SELECT format('%s is %s', key, value)
        FROM jsonb_each(answer)
       WHERE jsonb_typeof(value) = 'null'
          OR (key ~ '(_at|_since)$' AND value #>> '{}' !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$')
          OR (key ~ '_ms$' AND value #>> '{}' !~ '^\d+$')
       LIMIT 1)
  END
$$;

-- What is left of an answer when all that differs between two runs is taken out.
CREATE FUNCTION facts(answer jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  broken text := broken_contract(answer);
BEGIN
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'the contract is broken: %', broken USING DETAIL = answer::text;
  END IF;
  IF answer #> '{after,message}' IS NOT NULL THEN
    answer := jsonb_set(answer, '{after}', facts(answer->'after'));
  END IF;
  IF answer ? 'conflicts' THEN
    answer := jsonb_set(answer, '{conflicts}', (SELECT jsonb_agg(conflict - 'changed_at') FROM jsonb_array_elements(answer->'conflicts') AS conflict));
  END IF;
  RETURN answer - ARRAY['message', 'hint', 'claimed_at', 'expires_at', 'ended_at', 'started_at', 'finished_at',
                        'lost_since', 'retry_after_ms', 'remaining_ms'];
END
$$;

-- What a refused statement says. The ones that are not refused are named.
CREATE FUNCTION refusal(statement text, OUT state text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  message := 'NOT REFUSED: ' || statement;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
                          detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  detail := regexp_replace(detail, '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z', '<instant>', 'g');
END
$$;

-- Every claim a slot has seen.
CREATE FUNCTION claims_of(slot text, OUT token bigint, OUT holder text, OUT status text, OUT origin bigint,
                          OUT ended boolean, OUT expires boolean)
RETURNS SETOF record LANGUAGE sql AS $$
  SELECT token, holder, status, origin, ended_at IS NOT NULL, expires_at IS NOT NULL
    FROM claims.slot_claims WHERE slot_id = slot ORDER BY token
$$;

-- A claim whose lease has run out, and which nobody has looked at since.
CREATE FUNCTION expired_claim(slot text, holder text, on_expiry text DEFAULT 'release')
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb := claim_slot(slot, holder, ttl => '1 ms', on_expiry => on_expiry);
BEGIN
  IF NOT (answer->>'ok')::boolean THEN
    RAISE EXCEPTION 'not claimed: %', answer;
  END IF;
  PERFORM pg_sleep(0.02);
  RETURN answer->>'token';
END
$$;
