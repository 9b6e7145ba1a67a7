--
-- The settings, once a call has loaded the library.
--
SELECT facts(check_slot('a setting'));
SHOW pg_claims.default_ttl;
SHOW pg_claims.max_ttl;
SHOW pg_claims.default_lease;
SHOW pg_claims.lock_wait;
SHOW pg_claims.retention;
SHOW pg_claims.notify;
SHOW pg_claims.writer;

SELECT name, context, short_desc IS NOT NULL AND short_desc <> '' AS described
  FROM pg_settings WHERE name LIKE 'pg\_claims.%' ORDER BY name;

-- They take units, and refuse what makes no sense.
SET pg_claims.default_ttl = '90 s';
SELECT claim_slot('a setting', 'h1') -> 'ttl_ms' AS ttl_ms;
RESET pg_claims.default_ttl;
\set VERBOSITY sqlstate
SET pg_claims.default_ttl = '0';
SET pg_claims.default_ttl = '-1 s';
SET pg_claims.max_ttl = '0';
SET pg_claims.lock_wait = '-1 s';
SET pg_claims.retention = '-1 d';
SET pg_claims.notify = 'perhaps';
\set VERBOSITY default
