--
-- Periods with a capacity: at no instant are more units taken than there are, and
-- what does not overlap does not count.
--
SELECT facts(set_capacity('tables 1', 4));
SELECT facts(claim_period('tables 1', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => 1, ttl => '1 hour'));
SELECT answer->>'outcome' AS outcome, count(*)
  FROM generate_series(2, 6) AS n,
       claim_period('tables 1', 'h' || n, '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => 1, ttl => '1 hour') AS answer GROUP BY 1 ORDER BY 1;
SELECT facts(claim_period('tables 1', 'h7', '2031-01-02T20:59:59.999999Z', '2031-01-02T22:00Z', units => 1));
SELECT facts(claim_period('tables 1', 'h7', '2031-01-02T21:00Z', '2031-01-02T22:00Z', units => 4)) ->> 'outcome' AS after_them;
SELECT facts(claim_period('tables 1', 'h8', '2031-01-02T18:00Z', '2031-01-02T19:00Z', units => 5));
SELECT facts(claim_period('tables 1', 'h8', '2031-01-02T18:00Z', '2031-01-02T19:00Z', units => 3)) ->> 'outcome' AS before_them;
SELECT facts(check_period('tables 1', '2031-01-02T18:30Z', '2031-01-02T18:45Z'));
SELECT facts(check_period('tables 1', '2031-01-02T18:30Z', '2031-01-02T19:15Z'));
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'tables 1';

-- It is the fullest instant that counts, not the sum: 2 and then 2 leave room for 2
-- across both, but 3 at one instant do not.
SELECT set_capacity('tables 2', 4) ->> 'outcome' AS outcome,
       claim_period('tables 2', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', units => 2) ->> 'outcome' AS outcome,
       claim_period('tables 2', 'h2', '2031-01-02T11:00Z', '2031-01-02T12:00Z', units => 2) ->> 'outcome' AS outcome;
SELECT facts(check_period('tables 2', '2031-01-02T10:00Z', '2031-01-02T12:00Z'));
SELECT facts(claim_period('tables 2', 'h3', '2031-01-02T10:00Z', '2031-01-02T12:00Z', units => 3));
SELECT facts(claim_period('tables 2', 'h3', '2031-01-02T10:30Z', '2031-01-02T11:30Z', units => 1)) ->> 'outcome' AS outcome;
SELECT facts(claim_period('tables 2', 'h4', '2031-01-02T10:00Z', '2031-01-02T12:00Z', units => 2));
SELECT facts(claim_period('tables 2', 'h4', '2031-01-02T10:00Z', '2031-01-02T12:00Z', units => 1)) ->> 'outcome' AS outcome;
SELECT facts(claim_period('tables 2', 'h5', '2031-01-02T10:00Z', '2031-01-02T10:30Z', units => 1)) ->> 'outcome' AS outcome;
SELECT facts(claim_period('tables 2', 'h6', '2031-01-02T10:30Z', '2031-01-02T10:31Z', units => 1));

-- Units without a period are taken at every instant, and look at all periods.
SELECT set_capacity('tables 3', 4) ->> 'outcome' AS outcome,
       claim_units('tables 3', 'h1', 1) ->> 'outcome' AS outcome,
       claim_period('tables 3', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', units => 2) ->> 'outcome' AS outcome;
SELECT facts(claim_period('tables 3', 'h3', '2031-01-02T10:00Z', '2031-01-02T11:00Z', units => 2));
SELECT facts(claim_period('tables 3', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z', units => 4));
SELECT facts(claim_units('tables 3', 'h3', 2));
SELECT facts(claim_units('tables 3', 'h3', 1)) ->> 'outcome' AS outcome;
SELECT facts(check_slot('tables 3'));
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'tables 3';

-- Expired ones are free at once, reaped or not; moved, released and cancelled ones too.
SELECT set_capacity('tables 4', 1) ->> 'outcome' AS outcome,
       claim_period('tables 4', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', units => 1, ttl => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(check_period('tables 4', '2031-01-02T10:00Z', '2031-01-02T11:00Z'));
SELECT facts(claim_period('tables 4', 'h2', '2031-01-02T10:30Z', '2031-01-02T11:30Z', units => 1));
SELECT facts(confirm_slot('tables 4', 'h1', 1));
SELECT facts(move_period('tables 4', 'h2', 2, '2031-01-02T11:00Z', '2031-01-02T12:00Z'));
SELECT facts(confirm_slot('tables 4', 'h1', 1));
SELECT facts(move_period('tables 4', 'h2', 2, '2031-01-02T10:30Z', '2031-01-02T11:30Z'));
SELECT facts(cancel_slot('tables 4', 'desk', 1)) ->> 'outcome' AS outcome;
SELECT facts(move_period('tables 4', 'h2', 2, '2031-01-02T10:30Z', '2031-01-02T11:30Z')) ->> 'outcome' AS outcome;
SELECT facts(release_slot('tables 4', 'h2', 2)) ->> 'outcome' AS outcome;
SELECT token, holder, status, origin, ended_by FROM claims.slot_claims WHERE slot_id = 'tables 4' ORDER BY token;

-- The same holder for overlapping times: once, unless it is another purchase.
SELECT set_capacity('tables 5', 4) ->> 'outcome' AS outcome,
       claim_period('tables 5', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', units => 1, call_id => 'c1') ->> 'token' AS token;
SELECT facts(claim_period('tables 5', 'h1', '2031-01-02T10:30Z', '2031-01-02T11:30Z', units => 1));
SELECT facts(claim_period('tables 5', 'h1', '2031-01-02T10:30Z', '2031-01-02T11:30Z', units => 1, call_id => 'c2')) ->> 'token' AS token;
SELECT facts(claim_period('tables 5', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', units => 1, call_id => 'c1')) ->> 'replayed' AS replayed;
SELECT facts(claim_period('tables 5', 'h1', '2031-01-02T12:00Z', '2031-01-02T13:00Z', units => 1)) ->> 'token' AS another_time;

-- By a query of its own: at no instant more than there are.
SELECT slot_id, max(at_once) AS most, max(capacity) AS capacity
  FROM claims.pools AS pool, LATERAL (
       SELECT at, pool.taken + sum(units) AS at_once
         FROM (SELECT DISTINCT lower(period) AS at FROM claims.slot_claims AS c WHERE c.slot_id = pool.slot_id AND period IS NOT NULL) AS starts
         JOIN claims.active AS a ON a.slot_id = pool.slot_id AND a.period @> at GROUP BY at) AS sweep
 WHERE slot_id LIKE 'tables _' GROUP BY slot_id ORDER BY slot_id;
SELECT facts(check_claims());
