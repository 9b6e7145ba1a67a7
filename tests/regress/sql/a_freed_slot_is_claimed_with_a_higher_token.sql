--
-- The token fences: on every slot it starts at 1 and never falls, however a
-- claim ended.
--
SELECT facts(claim_slot('bay 1', 'h1'));
SELECT facts(release_slot('bay 1', 'h1', 1));
SELECT facts(claim_slot('bay 1', 'h2'));
SELECT facts(confirm_slot('bay 1', 'h2', 2));
SELECT facts(cancel_slot('bay 1', 'desk', 2));
SELECT facts(claim_slot('bay 1', 'h3', on_expiry => 'review'));
SELECT facts(release_slot('bay 1', 'h3', 3, in_doubt => true));
SELECT facts(resolve_slot('bay 1', 'h3', 3, 'released'));
SELECT facts(claim_slot('bay 1', 'h4'));
SELECT * FROM claims_of('bay 1');

-- Another slot counts for itself.
SELECT claim_slot('bay 2', 'h1') -> 'token' AS token;
