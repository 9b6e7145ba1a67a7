--
-- What makes no list of times is refused, and a list has an end.
--
SELECT free_periods('nurse 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT free_periods('nurse 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', '0');
\echo :LAST_ERROR_SQLSTATE
SELECT free_periods('nurse 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', '-15 minutes');
SELECT free_periods('nurse 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', '15 minutes', '0');
SELECT free_periods('nurse 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', '15 minutes', '-1 minute');
SELECT free_periods('nurse 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', '367 days');
SELECT free_periods('undefined', '2031-01-02T09:00Z', '2031-01-02T10:00Z', '15 minutes');

-- A thousand starts are the most.
SELECT jsonb_array_length(free_periods('nurse 1', '2031-01-02T00:00Z', '2031-01-02T16:40Z', '1 minute') -> 'free') AS starts;
SELECT free_periods('nurse 1', '2031-01-02T00:00Z', '2031-01-02T16:41Z', '1 minute');
SELECT jsonb_array_length(free_periods('nurse 1', '2031-01-02T00:00Z', '2031-01-02T16:41Z', '1 minute', '2 minutes') -> 'free') AS starts;
