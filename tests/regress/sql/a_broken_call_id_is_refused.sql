--
-- A call_id that came out of a broken expression would make two different
-- calls one. NULL is no call_id, and fine.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_slot('gate 2', 'h1', call_id => 'undefined');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('gate 2', 'h1', call_id => '');
\echo :LAST_ERROR_SQLSTATE

SELECT call_id, state, message
  FROM (VALUES ('  '), (' 1:0:0'), ('1:0:0 '), (E'1:0:0\n'), ('"1:0:0"'), ('null'), ('NaN'), ('[object Object]'),
               ('__UNKNOWN__'), ('Invalid Date')) AS call_ids(call_id),
       refusal(format('SELECT claim_slot(%L, %L, call_id => %L)', 'gate 2', 'h1', call_id));
SELECT state, message FROM refusal(format('SELECT claim_slot(%L, %L, call_id => %L)', 'gate 2', 'h1', repeat('c', 501)));

SELECT count(*) - :before AS written FROM claims.slot_claims;

SELECT facts(claim_slot('gate 2', 'h1', call_id => NULL));
