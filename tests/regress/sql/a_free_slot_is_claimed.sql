--
-- A free slot goes to the first who asks.
--
SELECT facts(claim_slot('chair 1', 'h1', ttl => '1 hour', note => '{"customer": 7}'));

SELECT token, holder, status, on_expiry, note, ended_at, ended_by, reason, origin, call_id, result,
       expires_at - claimed_at AS lease
  FROM claims.slot_claims WHERE slot_id = 'chair 1';

-- The message is for a person.
SELECT claim_slot('chair 2', 'h1') ->> 'message' AS message;

-- Without a ttl the lease is pg_claims.default_ttl, and so it is with NULL.
SELECT claim_slot('chair 3', 'h1') -> 'ttl_ms' AS ttl_ms;
SELECT claim_slot('chair 4', 'h1', NULL) -> 'ttl_ms' AS ttl_ms;

-- The lease comes back in milliseconds, so that '5:00' is seen to be five hours.
SELECT claim_slot('chair 5', 'h1', '5:00') -> 'ttl_ms' AS ttl_ms;

-- Times are ISO 8601 in UTC, whatever the session's settings say, and agree
-- with the table.
SET TimeZone = 'Asia/Kathmandu';
SET DateStyle = 'German';
SET IntervalStyle = 'postgres_verbose';
SELECT claim_slot('chair 6', 'h1', '90 seconds') AS answer \gset
SELECT :'answer'::jsonb ->> 'claimed_at' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$' AS in_utc,
       :'answer'::jsonb -> 'ttl_ms' AS ttl_ms;
RESET IntervalStyle;
RESET DateStyle;
SELECT claimed_at = (:'answer'::jsonb ->> 'claimed_at')::timestamptz AS claimed_at,
       expires_at = (:'answer'::jsonb ->> 'expires_at')::timestamptz AS expires_at,
       expires_at - claimed_at AS lease,
       abs(extract(epoch FROM clock_timestamp() - claimed_at)) < 60 AS by_the_clock
  FROM claims.slot_claims WHERE slot_id = 'chair 6';
RESET TimeZone;
