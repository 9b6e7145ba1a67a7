--
-- What is no list of requests is refused before anything is written, with a DETAIL for
-- a person.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_many(NULL, 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_many('[]', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_many((SELECT jsonb_agg(jsonb_build_object('slot_id', 'nook 9/' || n)) FROM generate_series(1, 1001) AS n), 'h1');
\echo :LAST_ERROR_SQLSTATE
-- The same slot twice: which of the two would it be?
SELECT claim_many('[{"slot_id": "room 61"}, {"slot_id": "room 61"}]', 'h1');
SELECT state, detail
  FROM unnest(ARRAY[
    '[{"slot_id": "room 61"}, {"slot_id": "room 62"}, {"slot_id": "room 61"}]',
    '[{"slot_id": 61}, {"slot_id": "61"}]',
    '[{"slot_id": "room 61", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
      {"slot_id": "room 61", "starts_at": "2031-01-02T10:00Z", "ends_at": "2031-01-02T11:00Z"}]',
    '[{"slot_id": "room 61"}, {"slot_id": "room 61", "starts_at": "2031-01-02T10:00Z", "ends_at": "2031-01-02T11:00Z"}]',
    '[{"slot_id": "room 61", "units": 1}, {"slot_id": "room 61"}]',
    '[{"slot_id": "room 61", "units": 1}, {"slot_id": "room 61", "units": 1, "starts_at": "2031-01-02T10:00Z", "ends_at": "2031-01-02T11:00Z"}]']) AS requests,
       refusal(format('SELECT claim_many(%L, %L)', requests, 'h1'));

-- No array, or not one of requests.
SELECT requests, state, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint
  FROM unnest(ARRAY['{}', '{"slot_id": "room 61"}', '"room 61"', '"[{\"slot_id\": \"room 61\"}]"', '7', 'null', 'true', '["room 61"]', '[null]',
                    '[[]]', '[["room 61"]]', '[["room 61", null, null, null, null]]', '[{}]', '[{"slot": "room 61"}]',
                    '[{"slot_id": null}]', '[{"slot_id": true}]', '[{"slot_id": ["room 61"]}]', '[{"slot_id": "room 61", "units": "2"}]',
                    '[{"slot_id": "room 61", "units": 1.5}]', '[{"slot_id": "room 61", "units": 4294967297}]',
                    '[{"slot_id": "room 61", "starts_at": 1767344400, "ends_at": 1767348000}]']) AS requests,
       refusal(format('SELECT claim_many(%L, %L)', requests, 'h1'));

-- A field that is misspelt: without its times a period would be the whole room.
SELECT claim_many('[{"slot_id": "room 61", "start": "2031-01-02T09:00Z", "end": "2031-01-02T10:00Z"}]', 'h1');
SELECT state FROM refusal($$SELECT claim_many('[{"slot_id": "room 61", "unit": 2}]', 'h1')$$);

-- In it, what is refused elsewhere is refused too, with its own DETAIL.
SELECT requests, state, message, detail
  FROM unnest(ARRAY['[{"slot_id": "room 61"}, {"slot_id": "undefined"}]', '[{"slot_id": ""}]', '[{"slot_id": " room 61"}]',
                    '[{"slot_id": "\"room 61\""}]', '[{"slot_id": "room 61", "units": 0}]',
                    '[{"slot_id": "room 61", "starts_at": "2031-01-02T09:00", "ends_at": "2031-01-02T10:00Z"}]',
                    '[{"slot_id": "room 61", "starts_at": "2031-01-02T09:00Z"}]']) AS requests,
       refusal(format('SELECT claim_many(%L, %L)', requests, 'h1'));
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "room 61"}]', 'undefined')$$);
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "room 61"}]', NULL)$$);
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "room 61"}]', 'h1', '-1 s')$$);
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "room 61"}]', 'h1', wait => '-1 s')$$);
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "room 61"}]', 'h1', after => NULL)$$);

-- The claims of confirm_many and release_many need their tokens.
SELECT confirm_many('[{"slot_id": "room 61"}]', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT call, state, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint
  FROM unnest(ARRAY[
    $$confirm_many(NULL, 'h1')$$, $$confirm_many('[]', 'h1')$$, $$confirm_many('{}', 'h1')$$, $$confirm_many('[{"token": 1}]', 'h1')$$,
    $$confirm_many('[{"slot_id": "room 61", "token": 1}, {"slot_id": "room 62"}]', 'h1')$$,
    $$confirm_many('[{"slot_id": "room 61", "token": "1"}]', 'h1')$$, $$confirm_many('[{"slot_id": "undefined", "token": 1}]', 'h1')$$,
    $$confirm_many('[{"slot_id": "room 61", "token": 1}]', NULL)$$,
    $$release_many(NULL, 'h1')$$, $$release_many('[]', 'h1')$$, $$release_many('[{"slot_id": "room 61"}]', 'h1')$$,
    $$release_many('[["room 61", 1, null, null, null]]', 'h1')$$,
    $$release_many('[{"slot_id": "room 61", "token": 1}]', 'undefined')$$]) AS call,
       refusal('SELECT ' || call);
SELECT state, detail FROM refusal($$SELECT confirm_many((SELECT jsonb_agg(jsonb_build_object('slot_id', 'nook 9/' || n, 'token', 1)) FROM generate_series(1, 1001) AS n), 'h1')$$);

SELECT count(*) - :before AS written FROM claims.slot_claims;
