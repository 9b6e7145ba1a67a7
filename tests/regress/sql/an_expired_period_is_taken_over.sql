--
-- A period whose lease has run out holds nobody up who overlaps it, whether a
-- reaper ever runs or not.
--
CREATE FUNCTION pg_temp.expired_period(slot text, holder text, starts_at text, ends_at text, on_expiry text DEFAULT 'release')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb := claim_period(slot, holder, starts_at, ends_at, ttl => '1 ms', on_expiry => on_expiry);
BEGIN
  PERFORM pg_sleep(0.02);
  RETURN answer->>'outcome';
END
$$;

SELECT pg_temp.expired_period('rink 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT facts(check_period('rink 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT * FROM claims_of('rink 1');
SELECT facts(claim_period('rink 1', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z', ttl => '1 hour'));
SELECT token, holder, status, ended_by, expires_at IS NOT NULL AS expires
  FROM claims.slot_claims WHERE slot_id = 'rink 1' ORDER BY token;
SELECT claim_period('rink 1', 'h3', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'held_by' AS held_by;
-- What h2 does not need is free again.
SELECT facts(claim_period('rink 1', 'h3', '2031-01-02T09:00Z', '2031-01-02T09:30Z')) ->> 'outcome' AS outcome;

-- Several at once; the one that does not overlap stays as it is.
SELECT pg_temp.expired_period('rink 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'),
       pg_temp.expired_period('rink 2', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z'),
       pg_temp.expired_period('rink 2', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z');
SELECT claim_period('rink 2', 'h4', '2031-01-02T09:30Z', '2031-01-02T10:30Z', ttl => '1 hour') ->> 'outcome' AS outcome;
SELECT token, holder, status, ended_by FROM claims.slot_claims WHERE slot_id = 'rink 2' ORDER BY token;

-- One of two that overlap still lives: nothing is taken over.
SELECT pg_temp.expired_period('rink 3', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT claim_period('rink 3', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'outcome' AS outcome;
SELECT facts(claim_period('rink 3', 'h3', '2031-01-02T09:30Z', '2031-01-02T10:30Z'));
SELECT token, holder, status, ended_by FROM claims.slot_claims WHERE slot_id = 'rink 3' ORDER BY token;

-- For review it blocks from the instant at which it expires.
SELECT pg_temp.expired_period('rink 4', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', 'review');
SELECT facts(claim_period('rink 4', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z'));
SELECT facts(claim_period('rink 4', 'h2', '2031-01-02T10:00Z', '2031-01-02T10:30Z')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('rink 4');

-- A wait ends with the lease, and not before it.
SELECT claim_period('rink 5', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '300 ms') ->> 'outcome' AS outcome;
SELECT claim_period('rink 5', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z', wait => '50 ms') ->> 'outcome' AS outcome;
SELECT facts(claim_period('rink 5', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z', wait => '30 s'));
