--
-- A holder is refused for the same reasons as a slot: a claim held by
-- "undefined" is held by every run whose expression broke.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_slot('gate 1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('gate 1', '');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('gate 1', 'undefined');
SELECT claim_slot('gate 1', '"run 7"');

SELECT holder, state, message
  FROM (VALUES (''), ('  '), (' h1'), ('h1 '), (E'h\n1'), ('"h1"'), ('undefined'), ('null'), ('NaN'), ('[object Object]'),
               ('__UNKNOWN__'), ('Invalid Date'), (repeat('h', 501))) AS holders(holder),
       refusal(format('SELECT claim_slot(%L, %L)', 'gate 1', holder))
 WHERE length(holder) < 500;
SELECT state, message FROM refusal(format('SELECT claim_slot(%L, %L)', 'gate 1', repeat('h', 501)));

-- Every function refuses it; release_holder takes a NULL, since an activation
-- that failed has no execution.
SELECT call, state, message, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint
  FROM unnest(ARRAY[
    $$confirm_slot('gate 1', %L, 1)$$, $$release_slot('gate 1', %L, 1)$$, $$extend_slot('gate 1', %L, 1)$$,
    $$cancel_slot('gate 1', %L, 1)$$, $$resolve_slot('gate 1', %L, 1, 'booked')$$, $$holds_slot('gate 1', %L, 1)$$,
    $$require_slot('gate 1', %L, 1)$$, $$release_holder(%L)$$]) AS template,
       format(template, 'undefined') AS call,
       refusal('SELECT ' || call);
SELECT call, state, message
  FROM unnest(ARRAY[
    $$confirm_slot('gate 1', NULL, 1)$$, $$release_slot('gate 1', NULL, 1)$$, $$extend_slot('gate 1', NULL, 1)$$,
    $$cancel_slot('gate 1', NULL, 1)$$, $$resolve_slot('gate 1', NULL, 1, 'booked')$$, $$holds_slot('gate 1', NULL, 1)$$,
    $$require_slot('gate 1', NULL, 1)$$]) AS call,
       refusal('SELECT ' || call);

-- case 9: a comma in a value shifted the parameters. Where the shift can be
-- seen it is refused; a lease is not guessed from what was a holder.
PREPARE node AS SELECT facts(claim_slot($1, $2));
EXECUTE node('Smith', ' John');
EXECUTE node('gate 1', NULL);
EXECUTE node('gate 1', '');
DEALLOCATE node;
\set VERBOSITY sqlstate
SELECT claim_slot('Smith', 'John', 'run 7');
SELECT claim_slot('gate 1', 'run 7', '1 hour', 'release');
\set VERBOSITY default

SELECT count(*) - :before AS written FROM claims.slot_claims;
