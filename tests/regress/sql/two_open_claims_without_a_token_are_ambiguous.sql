--
-- Without a token a call means the holder's one open claim. Where periods of
-- one slot are claimed there may be several, and none is guessed.
--
SELECT facts(claim_period('studio 1', 'h1', '2030-01-01T09:00Z', '2030-01-01T10:00Z')) ->> 'outcome' AS outcome;
SELECT facts(claim_period('studio 1', 'h1', '2030-01-01T10:00Z', '2030-01-01T11:00Z')) ->> 'outcome' AS outcome;

SELECT facts(confirm_slot('studio 1', 'h1'));
SELECT facts(release_slot('studio 1', 'h1'));
SELECT facts(release_slot('studio 1', 'h1', in_doubt => true));
SELECT facts(extend_slot('studio 1', 'h1'));
SELECT facts(resolve_slot('studio 1', 'h1', NULL, 'booked')) ->> 'outcome' AS outcome;
SELECT holds_slot('studio 1', 'h1', 1), holds_slot('studio 1', 'h1', 2);
SELECT confirm_slot('studio 1', 'h1') ->> 'message' AS message;
SELECT * FROM claims_of('studio 1');

-- With a token, or when one is left, it is clear which is meant.
SELECT facts(confirm_slot('studio 1', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT facts(release_slot('studio 1', 'h1', 2)) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('studio 1', 'h1')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('studio 1');
