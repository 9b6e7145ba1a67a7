--
-- The reaper's older_than is an age: nothing is ended by mistake because of one
-- that is not.
--
SELECT reap_stale_claims('-1 ms');
\echo :LAST_ERROR_SQLSTATE
SELECT reap_stale_claims('1 month -31 days');
SELECT reap_stale_claims('200 years');
\echo :LAST_ERROR_SQLSTATE
SELECT reap_stale_claims(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT schedule_reaper(older_than => '-1 ms');
\echo :LAST_ERROR_SQLSTATE
SELECT schedule_reaper(older_than => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT schedule_reaper(NULL);
\echo :LAST_ERROR_SQLSTATE

-- The bounds themselves.
SELECT reap_stale_claims('0') ->> 'outcome' AS outcome;
SELECT reap_stale_claims('100 years') ->> 'outcome' AS outcome;
SELECT reap_stale_claims(older_than => '5 minutes') ->> 'outcome' AS outcome;
