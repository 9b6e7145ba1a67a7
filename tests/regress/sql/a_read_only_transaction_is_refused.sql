--
-- In a read-only transaction, and so on a standby, only a check works.
--
SELECT facts(claim_slot('quay 1', 'h1', '1 hour'));

BEGIN READ ONLY;
SELECT claim_slot('quay 2', 'h1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

BEGIN READ ONLY;
SELECT call, state, message, hint IS NOT NULL AS hint
  FROM unnest(ARRAY[
    $$claim_slot('quay 1', 'h2')$$, $$claim_slot('quay 2', 'h1')$$, $$confirm_slot('quay 1', 'h1', 1)$$,
    $$release_slot('quay 1', 'h1', 1)$$, $$extend_slot('quay 1', 'h1', 1)$$, $$cancel_slot('quay 1', 'h1', 1)$$,
    $$resolve_slot('quay 1', 'h1', 1, 'booked')$$, $$holds_slot('quay 1', 'h1', 1)$$, $$require_slot('quay 1', 'h1', 1)$$,
    $$release_holder('h1')$$]) AS call,
       refusal('SELECT ' || call);
SELECT facts(check_slot('quay 1'));
SELECT facts(check_slot('quay 2'));
COMMIT;

SELECT * FROM claims_of('quay 1');
SELECT * FROM claims_of('quay 2');
