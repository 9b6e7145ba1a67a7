--
-- The reaper ends expired periods and units as it ends expired slots, each by its own
-- on_expiry; what runs, is booked or in review it leaves alone.
--
SELECT set_capacity('pond 2', 10) ->> 'outcome' AS outcome, set_capacity('pond 3', 10) ->> 'outcome' AS outcome;
SELECT claim_period('pond 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '200 ms') ->> 'token' AS token,
       claim_period('pond 1', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '200 ms', on_expiry => 'review') ->> 'token' AS token,
       claim_period('pond 1', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z', ttl => '1 hour') ->> 'token' AS token,
       claim_units('pond 2', 'h1', 1, '200 ms') ->> 'token' AS token,
       claim_units('pond 2', 'h2', 2, '200 ms', on_expiry => 'review') ->> 'token' AS token,
       claim_units('pond 2', 'h3', 3, '1 hour') ->> 'token' AS token,
       claim_units('pond 2', 'h4', 1, '200 ms') ->> 'token' AS token,
       confirm_slot('pond 2', 'h4', 4) ->> 'outcome' AS outcome,
       claim_period('pond 3', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', units => 4, ttl => '200 ms') ->> 'token' AS token,
       claim_period('pond 3', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', units => 4, ttl => '200 ms', on_expiry => 'review') ->> 'token' AS token;
SELECT pg_sleep(0.25);
-- Not yet those that expired less than an hour ago.
SELECT reap_stale_claims('1 hour') ->> 'outcome' AS outcome;
SELECT count(*) AS ended FROM claims.slot_claims WHERE slot_id LIKE 'pond _' AND ended_at IS NOT NULL;

SELECT facts(reap_stale_claims()) ->> 'outcome' AS outcome;
SELECT slot_id, token, holder, status, units, ended_by, expires_at IS NOT NULL AS expires
  FROM claims.slot_claims WHERE slot_id LIKE 'pond _' ORDER BY 1, 2;
SELECT slot_id, taken FROM claims.pools WHERE slot_id LIKE 'pond _' ORDER BY 1;
SELECT facts(check_period('pond 3', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));

-- Again, nothing more.
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT slot_id, taken FROM claims.pools WHERE slot_id LIKE 'pond _' ORDER BY 1;
SELECT facts(check_claims());
