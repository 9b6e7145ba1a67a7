--
-- A time without an offset means another instant in another session and on the
-- other side of a change of the clocks (case 19): it is refused, and so is
-- everything that is no period. The DETAIL says what was wrong.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_period('office 1', 'h1', '2026-03-29T09:00:00', '2026-03-29T10:00:00Z');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('office 1', 'h1', '2026-03-29T09:00:00Z', '2026-03-29 10:00');
SELECT claim_period('office 1', 'h1', '2026-03-29T09:00:00Z', 'infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('office 1', 'h1', NULL, '2026-03-29T10:00:00Z');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('office 1', 'h1', '2026-03-29T09:00:00Z', NULL);

-- An end that is not after its start (case 17).
SELECT claim_period('office 1', 'h1', '2026-03-29T10:00:00Z', '2026-03-29T10:00:00Z');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('office 1', 'h1', '2026-03-29T10:00:00Z', '2026-03-29T09:00:00Z');
-- Less than the microsecond that PostgreSQL counts in.
SELECT claim_period('office 1', 'h1', '2026-03-29T10:00:00.0000001Z', '2026-03-29T10:00:00.0000009Z');
-- It only looks later.
SELECT claim_period('office 1', 'h1', '2026-03-29T10:00:00+01:00', '2026-03-29T11:00:00+03:00');

-- Without an offset, in every spelling.
SELECT time, state, detail
  FROM unnest(ARRAY['2026-01-02', '2026-01-02T09:00', '2026-01-02 09:00:00', '2026-01-02 09:00:00.123', '20260102T090000',
                    '"2026-01-02T09:00:00"', '2026-01-02T09:00:00[Europe/Berlin]']) AS time,
       refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'office 1', 'h1', time, '2031-01-01T00:00Z'));

-- Infinite.
SELECT time, state, detail
  FROM unnest(ARRAY['infinity', '-infinity', 'Infinity', '"infinity"', ' infinity ']) AS time,
       refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'office 1', 'h1', time, '2031-01-01T00:00Z'));

-- No time at all, or not one that is the same everywhere.
SELECT time, state, detail
  FROM unnest(ARRAY['', ' ', '"', '""', 'now', 'tomorrow', 'undefined', 'null', 'Invalid Date', '[object Object]', '{{ $now }}',
                    '[DateTime: 2026-01-02T09:00:00.000+01:00]', '1767344400', '1767344400000', '09:00Z', '2026-01-02Z',
                    '2026-01-02 09:00:00 UTC', '2026-01-02 09:00:00 Europe/Berlin', '2026-01-02T09:00:00 +01:00',
                    '2026-01-02T09:00:00+1', '"2026-01-02T09:00:00Z', '''2026-01-02T09:00:00Z''', '""2026-01-02T09:00:00Z""',
                    '02.01.2026 09:00:00 CET', '01/02/2026 09:00:00 UTC', 'Fri Jan 02 09:00:00 2026 UTC',
                    'Fri, 02 Jan 2026 09:00:00 GMT', 'Fri Jan 02 2026 09:00:00 GMT+0100 (Central European Standard Time)',
                    '2026-02-30T09:00:00Z', '2026-13-01T09:00:00Z', '2026-01-02T25:00:00Z', '2026-01-02T09:60:00Z',
                    '10000-01-01T00:00:00Z', '0044-03-15 00:00:00+00 BC', E'2026-01-02T09:00:00Z\n-- x', '2026-01-02T09:00:00Z, 1']) AS time,
       refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'office 1', 'h1', time, '2031-01-01T00:00Z'));

-- Further back than PostgreSQL's calendar goes, where it could never be read again; before the year 1, and after the year 9999.
SELECT starts_at, ends_at, state, detail
  FROM (VALUES ('-009000-01-01T00:00:00Z', '2031-01-01T00:00Z'), ('-000001-12-31T23:59:59Z', '2031-01-01T00:00Z'), ('0000-12-31T23:59:59Z', '2031-01-01T00:00Z'),
               ('2031-01-01T00:00Z', '9999-12-31T23:59:59Z')) AS periods(starts_at, ends_at),
       refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'office 1', 'h1', starts_at, ends_at));
SELECT claim_period('office 2', 'h1', '0001-01-01T00:00Z', '9999-12-30T00:00Z') ->> 'outcome' AS outcome;
SELECT slot_id, period IS NOT NULL AS readable FROM claims.slot_claims WHERE slot_id = 'office 2';
DELETE FROM claims.slot_claims WHERE slot_id = 'office 2';


-- So do the other functions that take a period.
SELECT call, state, detail
  FROM unnest(ARRAY[
    $$move_period('office 1', 'h1', 1, '2026-01-02T09:00', '2026-01-02T10:00Z')$$,
    $$check_period('office 1', '2026-01-02T09:00Z', '2026-01-02T10:00')$$,
    $$free_periods('office 1', '2026-01-02T09:00', '2026-01-02T10:00Z', '15 minutes')$$,
    $$claim_many('[{"slot_id": "office 1", "starts_at": "2026-01-02T09:00", "ends_at": "2026-01-02T10:00Z"}]', 'h1')$$,
    $$move_period('office 1', 'h1', 1, '2026-01-02T09:00Z', '2026-01-02T09:00Z')$$,
    $$check_period('office 1', '2026-01-02T09:00Z', '2026-01-02T09:00Z')$$,
    $$free_periods('office 1', '2026-01-02T09:00Z', '2026-01-02T09:00Z', '15 minutes')$$,
    $$claim_many('[{"slot_id": "office 1", "starts_at": "2026-01-02T09:00Z", "ends_at": "2026-01-02T09:00Z"}]', 'h1')$$,
    $$claim_many('[{"slot_id": "office 1", "starts_at": "2026-01-02T09:00Z"}]', 'h1')$$,
    $$claim_many('[{"slot_id": "office 1", "ends_at": "2026-01-02T09:00Z"}]', 'h1')$$,
    $$move_period('office 1', 'h1', 1, 'infinity', '2026-01-02T10:00Z')$$,
    $$check_period('office 1', NULL, '2026-01-02T10:00Z')$$,
    $$move_period('office 1', 'h1', 1, '2026-01-02T10:00Z', NULL)$$]) AS call,
       refusal('SELECT ' || call);

-- A typed time is no text: it would bring the session's time zone along.
SELECT state FROM refusal($$SELECT claim_period('office 1', 'h1', '2026-01-02'::date, '2026-01-03'::date)$$);

SELECT count(*) - :before AS written FROM claims.slot_claims;
