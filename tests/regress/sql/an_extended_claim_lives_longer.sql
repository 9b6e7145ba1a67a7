--
-- A lease is extended from now, and never made shorter.
--
SELECT facts(claim_slot('barn 1', 'h1', '10 minutes'));
SELECT facts(extend_slot('barn 1', 'h1', 1, '1 hour'));
SELECT expires_at - clock_timestamp() BETWEEN '59 min' AND '1 hour' AS an_hour FROM claims.slot_claims WHERE slot_id = 'barn 1';
SELECT expires_at AS before FROM claims.slot_claims WHERE slot_id = 'barn 1' \gset
SELECT answer->>'outcome' AS outcome, (answer->>'expires_at')::timestamptz = :'before' AS as_it_was
  FROM extend_slot('barn 1', 'h1', 1, '1 second') AS answer;
SELECT expires_at = :'before' AS as_it_was FROM claims.slot_claims WHERE slot_id = 'barn 1';

-- Without a token; without a ttl it is pg_claims.default_ttl.
SELECT facts(claim_slot('barn 2', 'h1', '10 s'));
SELECT facts(extend_slot('barn 2', 'h1'));
SELECT expires_at - clock_timestamp() BETWEEN '4 min' AND '5 min' AS five_minutes FROM claims.slot_claims WHERE slot_id = 'barn 2';

-- An expired claim is not extended: claim again.
SELECT expired_claim('barn 3', 'h1');
SELECT facts(extend_slot('barn 3', 'h1', 1));
SELECT extend_slot('barn 3', 'h1', 1) ->> 'message' AS message;
SELECT * FROM claims_of('barn 3');
SELECT facts(claim_slot('barn 3', 'h2', '1 hour'));
SELECT facts(extend_slot('barn 3', 'h1', 1));
SELECT facts(release_slot('barn 3', 'h2', 2));
SELECT facts(extend_slot('barn 3', 'h1', 1));

-- A booking has no lease, and neither has a review.
SELECT facts(confirm_slot('barn 1', 'h1', 1));
SELECT facts(extend_slot('barn 1', 'h1', 1));
SELECT facts(release_slot('barn 2', 'h1', 1, in_doubt => true));
SELECT facts(extend_slot('barn 2', 'h1', 1));
SELECT token, status, expires_at <= clock_timestamp() AS lease_over FROM claims.slot_claims WHERE slot_id IN ('barn 1', 'barn 2') ORDER BY slot_id;
