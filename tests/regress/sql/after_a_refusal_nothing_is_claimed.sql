--
-- Two calls in one statement are one decision: the second goes on only if the
-- first said ok, and otherwise changes nothing and hands the first answer on.
--
SELECT facts(claim_slot('court 1', 'h1', after => '{"ok": true}'));
SELECT facts(claim_slot('court 2', 'h1', after => '{"ok": false, "outcome": "wait", "message": "Come back later."}'));
SELECT facts(claim_slot('court 2', 'h1', after => '{"ok": false}'));
SELECT * FROM claims_of('court 2');

-- The call itself as argument.
SELECT facts(claim_slot('court 3', 'h1', '1 hour', after => claim_slot('court 4', 'h1', '1 hour')));
SELECT facts(claim_slot('court 5', 'h2', after => claim_slot('court 4', 'h2')));
SELECT facts(check_slot('court 5'));

-- A chain breaks at its first refusal, and says which that was.
SELECT facts(claim_slot('court 6', 'h2', after => claim_slot('court 7', 'h2', after => claim_slot('court 3', 'h2'))));
SELECT claim_slot('court 6', 'h2', after => claim_slot('court 3', 'h2')) ->> 'message' AS message;

-- Nothing is claimed, not even what would be a replay or is one's own.
SELECT facts(claim_slot('court 1', 'h1', after => '{"ok": false}'));

-- Its arguments are checked all the same.
SELECT state FROM refusal($$SELECT claim_slot('undefined', 'h1', after => '{"ok": false}')$$);

SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id LIKE 'court _' ORDER BY 1, 2;
