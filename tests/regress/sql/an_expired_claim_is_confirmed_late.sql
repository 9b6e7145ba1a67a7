--
-- case 20: confirmed after its lease ran out. The calendar call did succeed, so
-- while nobody else has the slot the booking stands. Nobody has looked at the
-- claim here: the row itself is promoted.
--
SELECT expired_claim('case 20 a', 'h1');
SELECT facts(confirm_slot('case 20 a', 'h1', 1, '{"event": "e1"}'));
SELECT facts(confirm_slot('case 20 a', 'h1', 1));
SELECT * FROM claims_of('case 20 a');
SELECT facts(claim_slot('case 20 a', 'h2'));
SELECT result FROM claims.slot_claims WHERE slot_id = 'case 20 a';

-- The same without a token.
SELECT expired_claim('case 20 b', 'h1');
SELECT facts(confirm_slot('case 20 b', 'h1'));

-- Another has it: lost, and to whom. The workflow can now apologise or refund.
SELECT expired_claim('case 20 c', 'h1');
SELECT facts(claim_slot('case 20 c', 'h2', '1 hour'));
SELECT facts(confirm_slot('case 20 c', 'h1', 1));
SELECT facts(confirm_slot('case 20 c', 'h1'));
SELECT confirm_slot('case 20 c', 'h1', 1) ->> 'message' AS message;
SELECT (confirm_slot('case 20 c', 'h1', 1) ->> 'lost_since')::timestamptz = claimed_at AS lost_since
  FROM claims.slot_claims WHERE slot_id = 'case 20 c' AND token = 2;
SELECT * FROM claims_of('case 20 c');

-- The winner books it, and the loser is told the same.
SELECT facts(confirm_slot('case 20 c', 'h2', 2));
SELECT facts(confirm_slot('case 20 c', 'h1', 1));

-- The winner gives it back: now the late one stands.
SELECT facts(cancel_slot('case 20 c', 'h2', 2));
SELECT facts(confirm_slot('case 20 c', 'h1', 1));
SELECT * FROM claims_of('case 20 c');
