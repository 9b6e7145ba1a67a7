--
-- The text of a date or a time depends on the session, and that of JSON, of an
-- array or a row on how it was written: none of them can name a slot.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_slot('2026-03-01 15:00+00'::timestamptz, 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('2026-03-01'::date, 'h1');
SELECT claim_slot('{"room": 1}'::jsonb, 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot(ARRAY['a', 'b'], 'h1');
\echo :LAST_ERROR_SQLSTATE

CREATE DOMAIN opening_day AS date;
SELECT id, state, message
  FROM unnest(ARRAY[
    $$'2026-03-01 15:00'::timestamp$$, $$'15:00'::time$$, $$'15:00+01'::timetz$$, $$'1 hour'::interval$$,
    $$'2026-03-01'::opening_day$$, $$'{"room": 1}'::json$$, $$ARRAY[1, 2]$$, $$ROW('a', 1)$$,
    $$tstzrange(NULL, NULL)$$, $$'\x00'::bytea$$]) AS id,
       refusal(format('SELECT claim_slot(%s, %L)', id, 'h1'));
DROP DOMAIN opening_day;

-- So do the other functions.
SELECT state, message
  FROM unnest(ARRAY[
    $$confirm_slot(%s, 'h1', 1)$$, $$release_slot(%s, 'h1', 1)$$, $$extend_slot(%s, 'h1', 1)$$,
    $$cancel_slot(%s, 'h1', 1)$$, $$resolve_slot(%s, 'h1', 1, 'booked')$$, $$check_slot(%s)$$,
    $$holds_slot(%s, 'h1', 1)$$, $$require_slot(%s, 'h1', 1)$$]) AS call,
       refusal('SELECT ' || format(call, 'current_date'));

-- Only the first identifier is of any type.
SELECT state FROM refusal($$SELECT claim_slot('a', 7)$$);
SELECT state FROM refusal($$SELECT release_holder(7)$$);

SELECT count(*) - :before AS written FROM claims.slot_claims;
