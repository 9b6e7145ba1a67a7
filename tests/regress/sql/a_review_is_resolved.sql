--
-- What the real calendar said ends a review.
--
SELECT facts(claim_slot('shed 1', 'h1'));
SELECT facts(resolve_slot('shed 1', 'h1', 1, 'booked'));
SELECT facts(release_slot('shed 1', 'h1', 1, in_doubt => true));
SELECT facts(resolve_slot('shed 1', 'h2', 1, 'booked'));
SELECT facts(resolve_slot('shed 1', 'h1', 2, 'booked'));
SELECT facts(resolve_slot('shed 1', 'h1', 1, 'booked', '{"event": "e1"}'));
SELECT facts(resolve_slot('shed 1', 'h1', 1, 'booked'));
SELECT facts(resolve_slot('shed 1', 'h1', 1, 'released'));
SELECT facts(confirm_slot('shed 1', 'h1', 1));
SELECT * FROM claims_of('shed 1');

SELECT facts(claim_slot('shed 2', 'h1'));
SELECT facts(release_slot('shed 2', 'h1', 1, in_doubt => true));
SELECT facts(resolve_slot('shed 2', 'h1', 1, 'released', '{"events": []}'));
SELECT facts(resolve_slot('shed 2', 'h1', 1, 'released'));
SELECT facts(claim_slot('shed 2', 'h2', '1 hour'));
SELECT facts(resolve_slot('shed 2', 'h1', 1, 'booked'));
SELECT * FROM claims_of('shed 2');

SELECT facts(resolve_slot('shed 3', 'h1', 1, 'booked'));
SELECT resolve_slot('shed 1', 'h1', 1, 'booked') ->> 'message' AS message;
