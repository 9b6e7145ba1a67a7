--
-- A call that waits can be interrupted at any moment.
--
SELECT facts(claim_slot('sluice 1', 'h1', '1 hour'));
SET statement_timeout = '300 ms';
SELECT clock_timestamp() AS start \gset
SELECT claim_slot('sluice 1', 'h2', wait => '50 s');
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SELECT clock_timestamp() - :'start' < '10 s' AS at_once;

-- The session goes on.
SELECT facts(claim_slot('sluice 2', 'h2'));
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
