--
-- release_holder is for an error workflow: each unconfirmed claim of the failed
-- run ends in its own way, and what it has booked stays booked.
--
SELECT facts(claim_slot('yard 1', 'yard run 1', '1 hour'));
SELECT facts(claim_slot('yard 2', 'yard run 1', '1 hour'));
SELECT facts(claim_slot('yard 3', 'yard run 1', '1 hour', on_expiry => 'review'));
SELECT facts(claim_slot('yard 4', 'yard run 1', '1 hour'));
SELECT facts(confirm_slot('yard 4', 'yard run 1'));
SELECT facts(claim_slot('yard 5', 'yard run 2', '1 hour'));

SELECT facts(release_holder('yard run 1', 'out of memory'));
SELECT slot_id, token, holder, status, ended_at IS NOT NULL AS ended, reason
  FROM claims.slot_claims WHERE slot_id LIKE 'yard _' ORDER BY slot_id;

-- Again, and for one who never held anything.
SELECT facts(release_holder('yard run 1', 'again'));
SELECT facts(release_holder('yard run 9'));
SELECT release_holder('yard run 9') ->> 'message' AS message;

-- An activation that failed has no execution: nothing is done, and that is ok.
SELECT facts(release_holder(NULL));
SELECT facts(release_holder(NULL, 'not activated'));

SELECT facts(check_slot('yard 1'));
SELECT facts(check_slot('yard 3'));
SELECT facts(check_slot('yard 5'));
