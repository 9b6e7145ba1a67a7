--
-- A misspelt series must not begin to count: it is refused, with the call that makes one.
--
SELECT next_number('invioce 1', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT next_number('o''clock', 'h1');
SELECT state, message FROM refusal($$SELECT next_number('invioce 1', 'h1', 'order 1')$$);
SELECT series, state, message
  FROM unnest(ARRAY['', 'undefined', ' x', NULL]) AS series, refusal(format('SELECT next_number(%L, %L)', series, 'h1'));
SELECT holder, state, message
  FROM unnest(ARRAY['', 'undefined', ' x', NULL]) AS holder, refusal(format('SELECT next_number(%L, %L)', 'invioce 1', holder));
SELECT state FROM refusal($$SELECT next_number('2031-01-01'::date, 'h1')$$);
SELECT count(*) FROM claims.series WHERE series = 'invioce 1';
SELECT count(*) FROM claims.numbers WHERE series = 'invioce 1';
