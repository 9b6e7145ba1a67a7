--
-- Tokens are 1, 2, 3 on every slot: alone they prove nothing. Holder and token
-- must both match.
--
SELECT facts(claim_slot('track 1', 'h1', '1 hour'));

SELECT facts(confirm_slot('track 1', 'h2', 1));
SELECT facts(confirm_slot('track 1', 'h2'));
SELECT facts(confirm_slot('track 1', 'h1', 2));
SELECT facts(confirm_slot('track 1', 'h1', 0));
SELECT facts(confirm_slot('track 1', 'h1', -1));
SELECT facts(confirm_slot('track 1', 'h1', 9223372036854775807));
SELECT facts(release_slot('track 1', 'h2', 1));
SELECT facts(release_slot('track 1', 'h2', 1, in_doubt => true));
SELECT facts(release_slot('track 1', 'h1', 2));
SELECT facts(extend_slot('track 1', 'h2', 1));
SELECT facts(extend_slot('track 1', 'h1', 2));
SELECT facts(resolve_slot('track 1', 'h2', 1, 'booked'));
SELECT confirm_slot('track 1', 'h2', 1) ->> 'message' AS message;

-- Where nothing was ever claimed.
SELECT facts(confirm_slot('track 2', 'h1', 1));
SELECT facts(release_slot('track 2', 'h1'));
SELECT facts(extend_slot('track 2', 'h1'));

SELECT * FROM claims_of('track 1');
SELECT * FROM claims_of('track 2');
