--
-- A lease is from a millisecond to pg_claims.max_ttl.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_slot('hall 1', 'h1', '0');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('hall 1', 'h1', '-5 minutes');
SELECT claim_slot('hall 1', 'h1', '0.5 ms');
SELECT claim_slot('hall 1', 'h1', '25 hours');
SELECT claim_slot('hall 1', 'h1', '1 month');
SELECT claim_slot('hall 1', 'h1', '178000000 years');
\echo :LAST_ERROR_SQLSTATE

-- A month less thirty days is nothing, and not a month.
SELECT state FROM refusal($$SELECT claim_slot('hall 1', 'h1', '1 month -30 days')$$);

SELECT count(*) - :before AS written FROM claims.slot_claims;

-- The bounds themselves.
SELECT claim_slot('hall 2', 'h1', '1 ms') -> 'ttl_ms' AS ttl_ms;
SELECT claim_slot('hall 3', 'h1', '1 day') -> 'ttl_ms' AS ttl_ms;
SELECT claim_slot('hall 4', 'h1', '24:00') -> 'ttl_ms' AS ttl_ms;

-- The upper bound is a setting.
SET pg_claims.max_ttl = '2 min';
SELECT claim_slot('hall 6', 'h1', '121 s');
SELECT claim_slot('hall 6', 'h1', '120 s') -> 'ttl_ms' AS ttl_ms;
SET pg_claims.max_ttl = '7 d';
SELECT claim_slot('hall 7', 'h1', '7 days') -> 'ttl_ms' AS ttl_ms;
RESET pg_claims.max_ttl;

-- So it is where a lease is extended.
SELECT count(*) AS before FROM claims.slot_claims \gset
SELECT extend_slot('hall 7', 'h1', 1, '0');
SELECT extend_slot('hall 7', 'h1', 1, '2 days');
SELECT state, message
  FROM unnest(ARRAY['-1 s', '0.9 ms', '25:00', '1 month']) AS ttl,
       refusal(format('SELECT extend_slot(%L, %L, 1, %L)', 'hall 7', 'h1', ttl));

-- What is no interval at all is PostgreSQL's own error.
\set VERBOSITY sqlstate
SELECT claim_slot('hall 8', 'h1', 'soon');
SELECT claim_slot('hall 8', 'h1', 300);
\set VERBOSITY default

SELECT count(*) - :before AS written FROM claims.slot_claims;
