--
-- What a broken expression leaves behind is no slot: otherwise every request
-- would claim the slot "undefined" (cases 9 and 10, in the form of slots).
-- The DETAIL says what was wrong, since that is what n8n shows.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_slot(NULL, 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('   ', 'h1');
SELECT claim_slot(' room 1', 'h1');
SELECT claim_slot('room 1 ', 'h1');
SELECT claim_slot(E'room\n1', 'h1');
SELECT claim_slot('"room 1"', 'h1');
SELECT claim_slot('undefined', 'h1');
SELECT claim_slot('null', 'h1');
SELECT claim_slot('NaN', 'h1');
SELECT claim_slot('[object Object]', 'h1');
SELECT claim_slot('__UNKNOWN__', 'h1');
SELECT claim_slot('Invalid Date', 'h1');
SELECT claim_slot(repeat('x', 501), 'h1');
\echo :LAST_ERROR_SQLSTATE

-- Counted in bytes; outer white space is more than blanks; a control character
-- is one wherever it is.
SELECT length(id) AS length, octet_length(id) AS bytes, state, CASE WHEN state IS NULL THEN 'claimed' END AS outcome
  FROM (VALUES (repeat('x', 500)), (repeat('ß', 250)), (repeat('ß', 251))) AS ids(id),
       refusal(format('SELECT claim_slot(%L, %L)', id, 'h1'));
SELECT name, state, message
  FROM (VALUES ('leading no-break space', U&'\00a0room'), ('trailing em space', U&'room\2003'),
               ('ideographic space', U&'\3000'), ('leading tab', E'\troom'), ('trailing line end', E'room\r\n'),
               ('control character 1', E'ro\x01om'), ('delete', E'room\x7f'), ('control character 0x85', U&'ro\0085om'),
               ('lone double quotes', '""'), ('quoted null', '"null"')) AS ids(name, id),
       refusal(format('SELECT claim_slot(%L, %L)', id, 'h1'));

-- What only resembles these is somebody's name for a slot.
SELECT id, answer->>'outcome' AS outcome, answer->>'slot_id' = id AS as_it_was
  FROM (VALUES ('undefined behaviour'), ('Null'), ('nan'), ('none'), ('o''clock'), ('say "hi"'), ('a, b'), ('"half'),
               ('0'), ('false'), ('{}'), ('[object]'), ('Zürich 会議室 1'), ('100 %'), ('a\b'), ('{{ $json.slot }}')) AS ids(id),
       claim_slot(id, 'h1') AS answer;
SELECT count(*) AS before FROM claims.slot_claims \gset

-- Every function refuses it.
SELECT call, state, message, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint
  FROM unnest(ARRAY[
    $$claim_slot('undefined', 'h1')$$, $$confirm_slot('undefined', 'h1', 1)$$, $$release_slot('undefined', 'h1', 1)$$,
    $$extend_slot('undefined', 'h1', 1)$$, $$cancel_slot('undefined', 'h1', 1)$$,
    $$resolve_slot('undefined', 'h1', 1, 'booked')$$, $$check_slot('undefined')$$, $$holds_slot('undefined', 'h1', 1)$$,
    $$require_slot('undefined', 'h1', 1)$$]) AS call,
       refusal('SELECT ' || call);
SELECT call, state, message, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint
  FROM unnest(ARRAY[
    $$claim_slot(NULL, 'h1')$$, $$confirm_slot(NULL, 'h1', 1)$$, $$release_slot(NULL, 'h1', 1)$$,
    $$extend_slot(NULL, 'h1', 1)$$, $$cancel_slot(NULL, 'h1', 1)$$, $$resolve_slot(NULL, 'h1', 1, 'booked')$$,
    $$check_slot(NULL)$$, $$holds_slot(NULL, 'h1', 1)$$, $$require_slot(NULL, 'h1', 1)$$]) AS call,
       refusal('SELECT ' || call);

-- A typed NULL as well, and a number that is none.
SELECT claim_slot(NULL::int, 'h1');
SELECT claim_slot(NULL::uuid, 'h1');
SELECT claim_slot('NaN'::numeric, 'h1');

SELECT count(*) - :before AS written FROM claims.slot_claims;
