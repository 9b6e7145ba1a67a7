--
-- For somebody in psql: which period, how many units, and what became of them.
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT set_capacity('kiln 2', 10) ->> 'outcome' AS outcome;
SELECT claim_period('kiln 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'token' AS token,
       claim_period('kiln 1', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 hour') ->> 'token' AS token,
       claim_period('kiln 1', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z', ttl => '1 ms') ->> 'token' AS token,
       claim_period('kiln 1', 'h4', '2031-01-02T12:00Z', '2031-01-02T13:00Z', ttl => '1 ms', on_expiry => 'review') ->> 'token' AS token,
       confirm_slot('kiln 1', 'h2', 2, '{"event": "e2"}') ->> 'outcome' AS outcome,
       move_period('kiln 1', 'h1', 1, '2031-01-02T09:00Z', '2031-01-02T09:30Z') ->> 'token' AS token,
       claim_units('kiln 2', 'h1', 3, '1 hour') ->> 'token' AS token,
       claim_period('kiln 2', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', units => 2) ->> 'token' AS token,
       release_slot('kiln 2', 'h2', 2, 'timeout', in_doubt => true) ->> 'outcome' AS outcome, pg_sleep(0.02);

SELECT slot_id, token, holder, status, period, units, result FROM claims.active WHERE slot_id LIKE 'kiln _' ORDER BY 1, 2;
SELECT slot_id, token, holder, period, units, reason FROM claims.needs_check WHERE slot_id LIKE 'kiln _' ORDER BY 1, 2;
SELECT slot_id, token, holder, status, period, units, ended_by, origin, held_until <= clock_timestamp() AS ended
  FROM claims.history WHERE slot_id LIKE 'kiln _' ORDER BY 1, 2;
-- Who has the kiln at half past ten?
SELECT holder FROM claims.active WHERE slot_id = 'kiln 1' AND period @> timestamptz '2031-01-02 10:30Z';
SELECT slot_id, capacity, taken FROM claims.pools WHERE slot_id = 'kiln 2';
