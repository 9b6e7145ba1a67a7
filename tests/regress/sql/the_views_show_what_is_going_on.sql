--
-- For somebody in psql: what is active, what needs a decision, and who held a
-- slot when, and how that ended.
--
SELECT facts(claim_slot('tower 1', 'h1', '1 hour'));
SELECT facts(claim_slot('tower 2', 'h1', '1 hour'));
SELECT facts(confirm_slot('tower 2', 'h1'));
SELECT facts(claim_slot('tower 3', 'h1', '1 hour'));
SELECT facts(release_slot('tower 3', 'h1', in_doubt => true));
SELECT expired_claim('tower 4', 'h1', 'review');
SELECT expired_claim('tower 5', 'h1');
SELECT expired_claim('tower 6', 'h1');
SELECT facts(claim_slot('tower 6', 'h2', '1 hour'));
SELECT facts(claim_slot('tower 7', 'h1', '1 hour'));
SELECT facts(release_slot('tower 7', 'h1', reason => 'customer left'));
SELECT facts(claim_slot('tower 8', 'h1', '1 hour'));
SELECT facts(confirm_slot('tower 8', 'h1'));
SELECT facts(cancel_slot('tower 8', 'desk', 1, 'customer ill'));

SELECT slot_id, token, holder, status, expires_at > clock_timestamp() AS lease_runs
  FROM claims.active WHERE slot_id LIKE 'tower _' ORDER BY slot_id;
SELECT slot_id, token, holder, in_review_since <= clock_timestamp() AS since
  FROM claims.needs_check WHERE slot_id LIKE 'tower _' ORDER BY slot_id;
SELECT slot_id, token, holder, status, held_until <= clock_timestamp() AS ended, ended_by, reason
  FROM claims.history WHERE slot_id LIKE 'tower _' ORDER BY slot_id, token;

-- A claim that has expired was held until its lease ran out, although nobody has
-- written that down.
SELECT h.held_until = c.expires_at AS by_the_lease
  FROM claims.history AS h JOIN claims.slot_claims AS c USING (slot_id, token) WHERE slot_id = 'tower 5';

-- A late confirm tells what it confirms.
SELECT facts(confirm_slot('tower 7', 'h1', 1, '{"event": "e7"}'));
SELECT token, status, origin, result FROM claims.history WHERE slot_id = 'tower 7' ORDER BY token;
