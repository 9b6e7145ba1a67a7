--
-- Each outcome, with the message that a person or an agent is shown and the
-- facts that come with it.
--
CREATE TABLE answers (n int GENERATED ALWAYS AS IDENTITY, call text, answer jsonb);
CREATE FUNCTION tell(call text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  result jsonb;
BEGIN
  EXECUTE 'SELECT ' || call INTO result;
  INSERT INTO answers (call, answer) VALUES (substring(call FROM '^\w+'), result);
END
$$;

DO $$
BEGIN
  PERFORM tell($call$claim_slot('lock 1', 'h1', '1 hour', call_id => 'c1')$call$);
  PERFORM tell($call$claim_slot('lock 1', 'h1', call_id => 'c1')$call$);
  PERFORM tell($call$claim_slot('lock 1', 'h1')$call$);
  PERFORM tell($call$claim_slot('lock 1', 'h2')$call$);
  PERFORM tell($call$claim_slot('lock 1', 'h2', after => claim_slot('lock 1', 'h2'))$call$);
  PERFORM tell($call$check_slot('lock 1')$call$);
  PERFORM tell($call$extend_slot('lock 1', 'h1', 1, '2 hours')$call$);
  PERFORM tell($call$resolve_slot('lock 1', 'h1', 1, 'booked')$call$);
  PERFORM tell($call$cancel_slot('lock 1', 'h1', 1)$call$);
  PERFORM tell($call$confirm_slot('lock 1', 'h2', 1)$call$);
  PERFORM tell($call$release_slot('lock 1', 'h2', 1)$call$);
  PERFORM tell($call$extend_slot('lock 1', 'h2', 1)$call$);
  PERFORM tell($call$resolve_slot('lock 1', 'h2', 1, 'booked')$call$);
  PERFORM tell($call$confirm_slot('lock 1', 'h1', 1)$call$);
  PERFORM tell($call$confirm_slot('lock 1', 'h1', 1)$call$);
  PERFORM tell($call$check_slot('lock 1')$call$);
  PERFORM tell($call$claim_slot('lock 1', 'h2')$call$);
  PERFORM tell($call$claim_slot('lock 1', 'h1')$call$);
  PERFORM tell($call$extend_slot('lock 1', 'h1', 1)$call$);
  PERFORM tell($call$release_slot('lock 1', 'h1', 1)$call$);
  PERFORM tell($call$cancel_slot('lock 1', 'desk', 1)$call$);
  PERFORM tell($call$cancel_slot('lock 1', 'desk', 1)$call$);
  PERFORM tell($call$confirm_slot('lock 1', 'h1', 1)$call$);
  PERFORM tell($call$check_slot('lock 1')$call$);
  PERFORM tell($call$cancel_slot('lock 2', 'desk', 1)$call$);
  PERFORM tell($call$check_slot('lock 2')$call$);
  PERFORM expired_claim('lock 3', 'h1');
  PERFORM tell($call$check_slot('lock 3')$call$);
  PERFORM tell($call$extend_slot('lock 3', 'h1', 1)$call$);
  PERFORM tell($call$claim_slot('lock 3', 'h2', '1 hour')$call$);
  PERFORM tell($call$confirm_slot('lock 3', 'h1', 1)$call$);
  PERFORM tell($call$release_slot('lock 3', 'h1', 1)$call$);
  PERFORM tell($call$extend_slot('lock 3', 'h1', 1)$call$);
  PERFORM tell($call$cancel_slot('lock 3', 'h1', 1)$call$);
  PERFORM tell($call$resolve_slot('lock 3', 'h1', 1, 'booked')$call$);
  PERFORM tell($call$release_slot('lock 3', 'h2', 2)$call$);
  PERFORM tell($call$release_slot('lock 3', 'h2', 2)$call$);
  PERFORM tell($call$confirm_slot('lock 3', 'h1', 1)$call$);
  PERFORM claim_slot('lock 4', 'h1');
  PERFORM tell($call$release_slot('lock 4', 'h1', in_doubt => true)$call$);
  PERFORM tell($call$check_slot('lock 4')$call$);
  PERFORM tell($call$claim_slot('lock 4', 'h2')$call$);
  PERFORM tell($call$extend_slot('lock 4', 'h1', 1)$call$);
  PERFORM tell($call$resolve_slot('lock 4', 'h1', 1, 'booked')$call$);
  PERFORM claim_slot('lock 5', 'h1');
  PERFORM release_slot('lock 5', 'h1', in_doubt => true);
  PERFORM tell($call$resolve_slot('lock 5', 'h1', 1, 'released')$call$);
  PERFORM tell($call$release_holder('h of no lock')$call$);
  PERFORM tell($call$release_holder(NULL)$call$);
END
$$;

SELECT call, answer->>'outcome' AS outcome, answer->'ok' AS ok, answer->>'status' AS status, answer->>'message' AS message
  FROM answers ORDER BY n;

-- The contract is kept by all of them.
SELECT call, answer FROM answers WHERE broken_contract(answer) IS NOT NULL;

-- An answer never carries a token that is not the caller's own, except a check.
SELECT call, answer FROM answers
 WHERE answer ? 'token' AND answer->>'outcome' IN ('taken', 'lost', 'not_holder', 'busy', 'not_reached');
-- Holder is the caller.
SELECT call, answer FROM answers WHERE call <> 'check_slot' AND answer->>'outcome' IN ('taken', 'lost') AND answer->>'holder' IN (answer->>'held_by', answer->>'lost_to');

-- The facts of each.
SELECT call, answer->>'outcome' AS outcome, string_agg(DISTINCT key, ' ' ORDER BY key) AS facts
  FROM answers, jsonb_object_keys(answer) AS key
 WHERE key NOT IN ('ok', 'outcome', 'message')
 GROUP BY 1, 2 ORDER BY 1, 2;

DROP TABLE answers;
DROP FUNCTION tell;
