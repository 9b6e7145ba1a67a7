--
-- Units whose lease has run out are free at once, and come back exactly once,
-- whoever gives them back: the next claim, the reaper, a late release.
--
CREATE FUNCTION pg_temp.brief_units(slot text, holder text, units int, on_expiry text DEFAULT 'release') RETURNS text LANGUAGE sql AS $$
  SELECT claim_units(slot, holder, units, ttl => '200 ms', on_expiry => on_expiry) ->> 'outcome'
$$;
CREATE FUNCTION pg_temp.pool(slot text, OUT capacity int, OUT taken int, OUT counted bigint) LANGUAGE sql AS $$
  SELECT capacity, taken, (SELECT coalesce(sum(units), 0) FROM claims.slot_claims AS c WHERE c.slot_id = slot AND ended_at IS NULL)
    FROM claims.pools WHERE slot_id = slot
$$;

-- By the next claim, which takes over nothing but room.
SELECT set_capacity('lamp 1', 5) ->> 'outcome' AS outcome, pg_temp.brief_units('lamp 1', 'h1', 3), pg_temp.brief_units('lamp 1', 'h2', 2);
SELECT pg_sleep(0.25);
SELECT * FROM pg_temp.pool('lamp 1');
SELECT facts(check_slot('lamp 1'));
SELECT facts(claim_units('lamp 1', 'h3', 4, '1 hour'));
SELECT * FROM pg_temp.pool('lamp 1');
SELECT token, holder, status, ended_by FROM claims.slot_claims WHERE slot_id = 'lamp 1' ORDER BY token;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(release_slot('lamp 1', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT * FROM pg_temp.pool('lamp 1');

-- By the reaper, and then by nobody else.
SELECT set_capacity('lamp 2', 5) ->> 'outcome' AS outcome, pg_temp.brief_units('lamp 2', 'h1', 3), pg_temp.brief_units('lamp 2', 'h2', 2);
SELECT pg_sleep(0.25);
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT * FROM pg_temp.pool('lamp 2');
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(release_slot('lamp 2', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT facts(release_slot('lamp 2', 'h2')) ->> 'outcome' AS outcome;
SELECT * FROM pg_temp.pool('lamp 2');
SELECT token, holder, status, ended_by FROM claims.slot_claims WHERE slot_id = 'lamp 2' ORDER BY token;

-- By a late release, and then by nobody else.
SELECT set_capacity('lamp 3', 5) ->> 'outcome' AS outcome, pg_temp.brief_units('lamp 3', 'h1', 3);
SELECT pg_sleep(0.25);
SELECT facts(release_slot('lamp 3', 'h1', 1));
SELECT facts(release_slot('lamp 3', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT * FROM pg_temp.pool('lamp 3');

-- By an error workflow.
SELECT set_capacity('lamp 4', 5) ->> 'outcome' AS outcome, claim_units('lamp 4', 'run of lamp 4', 3) ->> 'outcome' AS outcome,
       claim_units('lamp 4', 'run of lamp 4', 1, call_id => 'c2', on_expiry => 'review') ->> 'outcome' AS outcome,
       claim_units('lamp 4', 'run of lamp 4', 1, call_id => 'c3') ->> 'outcome' AS outcome,
       confirm_slot('lamp 4', 'run of lamp 4', 3) ->> 'outcome' AS outcome;
SELECT facts(release_holder('run of lamp 4'));
SELECT facts(release_holder('run of lamp 4'));
SELECT * FROM pg_temp.pool('lamp 4');

-- For review they stay taken, reaper or not, until somebody has looked.
SELECT set_capacity('lamp 5', 3) ->> 'outcome' AS outcome, pg_temp.brief_units('lamp 5', 'h1', 2, 'review');
SELECT pg_sleep(0.25);
SELECT facts(claim_units('lamp 5', 'h2', 2));
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(claim_units('lamp 5', 'h2', 2));
SELECT slot_id, holder, token, units FROM claims.needs_check WHERE slot_id = 'lamp 5';
SELECT facts(resolve_slot('lamp 5', 'h1', 1, 'released'));
SELECT facts(resolve_slot('lamp 5', 'h1', 1, 'released')) ->> 'outcome' AS outcome;
SELECT facts(claim_units('lamp 5', 'h2', 3)) ->> 'outcome' AS outcome;
SELECT * FROM pg_temp.pool('lamp 5');

SELECT facts(check_claims());
