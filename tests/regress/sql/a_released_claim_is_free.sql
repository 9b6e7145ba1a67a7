--
-- A claim given back is free at once, and giving it back twice does no harm.
--
SELECT facts(claim_slot('mill 1', 'h1', '1 hour'));
SELECT facts(release_slot('mill 1', 'h1', 1, 'customer left'));
SELECT token, status, ended_at IS NOT NULL AS ended, ended_by, reason, expires_at FROM claims.slot_claims WHERE slot_id = 'mill 1';
SELECT facts(release_slot('mill 1', 'h1', 1));
SELECT facts(release_slot('mill 1', 'h1'));
SELECT release_slot('mill 1', 'h1', 1) ->> 'message' AS message;

-- Whoever is there now, it was released and that is the answer.
SELECT facts(claim_slot('mill 1', 'h2', '1 hour'));
SELECT facts(release_slot('mill 1', 'h1', 1));
SELECT facts(release_slot('mill 1', 'h1'));
SELECT facts(check_slot('mill 1'));

-- Without a token it is the one open claim.
SELECT facts(claim_slot('mill 2', 'h1', '1 hour'));
SELECT facts(release_slot('mill 2', 'h1'));

-- A booking is not released.
SELECT facts(claim_slot('mill 3', 'h1'));
SELECT facts(confirm_slot('mill 3', 'h1', 1));
SELECT facts(release_slot('mill 3', 'h1', 1));
SELECT facts(release_slot('mill 3', 'h1', 1, in_doubt => true));
SELECT release_slot('mill 3', 'h1', 1) ->> 'message' AS message;
SELECT * FROM claims_of('mill 3');

-- An expired claim, before and after another has taken it.
SELECT expired_claim('mill 4', 'h1');
SELECT facts(release_slot('mill 4', 'h1', 1)) -> 'ok' AS ok;
SELECT expired_claim('mill 5', 'h1');
SELECT facts(claim_slot('mill 5', 'h2', '1 hour'));
SELECT facts(release_slot('mill 5', 'h1', 1));
SELECT * FROM claims_of('mill 5');
SELECT facts(release_slot('mill 5', 'h2', 2));
SELECT facts(release_slot('mill 5', 'h1', 1));
