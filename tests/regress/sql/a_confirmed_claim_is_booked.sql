--
-- Confirmed, a claim is booked: it has no lease any more, and is nobody else's
-- until it is cancelled.
--
SELECT facts(claim_slot('seat 1', 'h1'));
SELECT facts(confirm_slot('seat 1', 'h1', 1, '{"event": "e1"}'));
SELECT token, status, expires_at, ended_at, result FROM claims.slot_claims WHERE slot_id = 'seat 1';
SELECT confirm_slot('seat 1', 'h1', 1) ->> 'message' AS message;

-- Again, it is still confirmed, and what was stored with it stays.
SELECT facts(confirm_slot('seat 1', 'h1', 1, '{"event": "e2"}'));
SELECT result FROM claims.slot_claims WHERE slot_id = 'seat 1';

-- Without a token it is the holder's one open claim, or else its last.
SELECT facts(claim_slot('seat 2', 'h1'));
SELECT facts(confirm_slot('seat 2', 'h1'));
SELECT facts(confirm_slot('seat 2', 'h1'));

-- Cancelled, it is not confirmed by the same run's retry.
SELECT facts(cancel_slot('seat 2', 'desk', 1));
SELECT facts(confirm_slot('seat 2', 'h1'));
SELECT facts(confirm_slot('seat 2', 'h1', 1));
SELECT * FROM claims_of('seat 2');
