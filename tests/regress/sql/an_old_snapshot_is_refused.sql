--
-- Above READ COMMITTED a call would answer from the past, with confidence and
-- without a serialization failure. So whatever writes is refused there; a check
-- is not.
--
SELECT facts(claim_slot('dock 1', 'h1', '1 hour'));

BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT claim_slot('dock 2', 'h1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT confirm_slot('dock 1', 'h1', 1);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

CREATE TEMP TABLE calls AS SELECT * FROM unnest(ARRAY[
  $$claim_slot('dock 1', 'h2')$$, $$claim_slot('dock 2', 'h1')$$, $$confirm_slot('dock 1', 'h1', 1)$$,
  $$release_slot('dock 1', 'h1', 1)$$, $$extend_slot('dock 1', 'h1', 1)$$, $$cancel_slot('dock 1', 'h1', 1)$$,
  $$resolve_slot('dock 1', 'h1', 1, 'booked')$$, $$holds_slot('dock 1', 'h1', 1)$$, $$require_slot('dock 1', 'h1', 1)$$,
  $$release_holder('h1')$$]) AS call;

BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT call, state, message, hint IS NOT NULL AS hint FROM calls, refusal('SELECT ' || call);
SELECT facts(check_slot('dock 1'));
SELECT facts(check_slot('dock 2'));
COMMIT;

BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT call, state FROM calls, refusal('SELECT ' || call);
SELECT facts(check_slot('dock 1'));
COMMIT;

-- READ UNCOMMITTED is READ COMMITTED in PostgreSQL.
BEGIN ISOLATION LEVEL READ UNCOMMITTED;
SELECT facts(claim_slot('dock 3', 'h1'));
COMMIT;

SELECT slot_id, token, status FROM claims.slot_claims WHERE slot_id LIKE 'dock _' ORDER BY 1;
DROP TABLE calls;
