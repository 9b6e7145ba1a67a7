--
-- case 15: two pending bookings of one slot, both confirmed. Here the second
-- is never pending, and its confirm is refused, with and without a token.
--
SELECT facts(claim_slot('case 15', 'h1', '1 hour'));
SELECT facts(claim_slot('case 15', 'h2', '1 hour'));
SELECT facts(confirm_slot('case 15', 'h2'));
SELECT facts(confirm_slot('case 15', 'h2', 1));
SELECT facts(confirm_slot('case 15', 'h1', 1));
SELECT facts(confirm_slot('case 15', 'h2', 1));
SELECT * FROM claims_of('case 15');
