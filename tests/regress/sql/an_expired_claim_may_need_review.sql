--
-- on_expiry => 'review' is for side effects of whose failure nobody can be
-- sure: when its lease has run out the claim is in review from that instant,
-- although nothing has written that down.
--
SELECT expired_claim('crane 1', 'h1', 'review');
SELECT token, status, on_expiry FROM claims.slot_claims WHERE slot_id = 'crane 1';
SELECT facts(check_slot('crane 1'));
SELECT facts(claim_slot('crane 1', 'h2'));
SELECT facts(claim_slot('crane 1', 'h1'));
SELECT slot_id, token, holder FROM claims.needs_check WHERE slot_id = 'crane 1';
SELECT holds_slot('crane 1', 'h1', 1);
SELECT facts(extend_slot('crane 1', 'h1', 1));
SELECT facts(release_slot('crane 1', 'h1', 1));
SELECT facts(claim_slot('crane 1', 'h2'));

-- Resolved either way.
SELECT facts(resolve_slot('crane 1', 'h1', 1, 'booked', '{"event": "e1"}'));
SELECT * FROM claims_of('crane 1');
SELECT slot_id FROM claims.needs_check WHERE slot_id = 'crane 1';

SELECT expired_claim('crane 2', 'h1', 'review');
SELECT facts(resolve_slot('crane 2', 'h1', 1, 'released', '{"events": []}'));
SELECT * FROM claims_of('crane 2');
SELECT slot_id FROM claims.needs_check WHERE slot_id = 'crane 2';
SELECT facts(claim_slot('crane 2', 'h2'));

-- Or confirmed late by its run.
SELECT expired_claim('crane 3', 'h1', 'review');
SELECT facts(confirm_slot('crane 3', 'h1', 1));
SELECT * FROM claims_of('crane 3');

-- While its lease runs it is a claim like any other.
SELECT facts(claim_slot('crane 4', 'h1', '1 hour', on_expiry => 'review'));
SELECT facts(claim_slot('crane 4', 'h2'));
SELECT facts(resolve_slot('crane 4', 'h1', 1, 'released'));
SELECT facts(release_slot('crane 4', 'h1', 1));
SELECT * FROM claims_of('crane 4');
