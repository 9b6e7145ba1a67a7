--
-- case 10: null and empty parameters. A key that a broken expression left
-- behind would make one of all requests. All refused, none stored.
--
SELECT count(*) AS before FROM claims.keys \gset
SELECT begin_key('undefined', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT begin_key(NULL, 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT key, state, message
  FROM (VALUES (''), ('   '), (' k'), ('k '), (E'k\n1'), ('"k"'), ('undefined'), ('null'), ('NaN'), ('[object Object]'),
               ('__UNKNOWN__'), ('Invalid Date')) AS keys(key),
       refusal(format('SELECT begin_key(%L, %L)', key, 'h1'));
SELECT state, message FROM refusal(format('SELECT begin_key(%L, %L)', repeat('k', 501), 'h1'));
SELECT call, state, message, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint
  FROM unnest(ARRAY[
    $$finish_key('undefined', 'h1', 1)$$, $$extend_key('undefined', 'h1', 1)$$, $$reset_key('undefined', 'h1')$$, $$check_key('undefined')$$,
    $$begin_key('tag 1', 'undefined')$$, $$begin_key('tag 1', NULL)$$, $$finish_key('tag 1', 'undefined', 1)$$,
    $$extend_key('tag 1', 'undefined', 1)$$, $$reset_key('tag 1', 'undefined')$$,
    $$begin_key('tag 1', 'h1', call_id => 'undefined')$$, $$begin_key(current_date, 'h1')$$, $$begin_key('[1]'::jsonb, 'h1')$$,
    $$finish_key(NULL, 'h1', 1)$$, $$extend_key(NULL, 'h1', 1)$$, $$reset_key(NULL, 'h1')$$, $$check_key(NULL)$$]) AS call,
       refusal('SELECT ' || call);

-- Leases as with slots.
SELECT begin_key('tag 1', 'h1', lease => '0');
\echo :LAST_ERROR_SQLSTATE
SELECT begin_key('tag 1', 'h1', lease => '1 month');
SELECT state FROM refusal($$SELECT begin_key('tag 1', 'h1', lease => '-1 s')$$);
SELECT state FROM refusal($$SELECT extend_key('tag 1', 'h1', 1, '0.5 ms')$$);
SELECT count(*) - :before AS written FROM claims.keys;

-- Snapshots and read-only transactions as with slots.
SELECT facts(begin_key('tag 2', 'h1'));
CREATE TEMP TABLE calls AS SELECT * FROM unnest(ARRAY[
  $$begin_key('tag 2', 'h2')$$, $$finish_key('tag 2', 'h1', 1)$$, $$extend_key('tag 2', 'h1', 1)$$, $$reset_key('tag 2', 'h1')$$]) AS call;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT call, state, message, hint IS NOT NULL AS hint FROM calls, refusal('SELECT ' || call);
SELECT facts(check_key('tag 2')) ->> 'outcome' AS outcome;
COMMIT;
BEGIN READ ONLY;
SELECT call, state, message, hint IS NOT NULL AS hint FROM calls, refusal('SELECT ' || call);
SELECT facts(check_key('tag 2')) ->> 'outcome' AS outcome;
COMMIT;
DROP TABLE calls;
