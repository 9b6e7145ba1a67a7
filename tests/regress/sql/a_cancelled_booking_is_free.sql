--
-- A booking is cancelled by whoever knows its token: the canceller is somebody
-- else, and only recorded.
--
SELECT facts(claim_slot('table 1', 'h1'));
SELECT facts(cancel_slot('table 1', 'desk', 1));
SELECT facts(confirm_slot('table 1', 'h1', 1));
SELECT facts(cancel_slot('table 1', 'desk', 1, 'customer ill'));
SELECT token, holder, status, ended_at IS NOT NULL AS ended, ended_by, reason FROM claims.slot_claims WHERE slot_id = 'table 1';
SELECT facts(check_slot('table 1'));

-- A repeated cancel does no harm, and must not hit the next customer.
SELECT facts(cancel_slot('table 1', 'desk', 1));
SELECT cancel_slot('table 1', 'desk', 1) ->> 'message' AS message;
SELECT facts(claim_slot('table 1', 'h2', '1 hour'));
SELECT facts(confirm_slot('table 1', 'h2', 2));
SELECT facts(cancel_slot('table 1', 'desk', 1));
SELECT facts(check_slot('table 1'));
SELECT * FROM claims_of('table 1');

-- Nothing there.
SELECT facts(cancel_slot('table 2', 'desk', 1));
SELECT facts(claim_slot('table 3', 'h1'));
SELECT facts(release_slot('table 3', 'h1', 1));
SELECT facts(cancel_slot('table 3', 'desk', 1));
SELECT expired_claim('table 4', 'h1');
SELECT facts(cancel_slot('table 4', 'desk', 1)) -> 'ok' AS ok;

-- It went to another.
SELECT expired_claim('table 5', 'h1');
SELECT facts(claim_slot('table 5', 'h2', '1 hour'));
SELECT facts(cancel_slot('table 5', 'h1', 1));
SELECT * FROM claims_of('table 5');
