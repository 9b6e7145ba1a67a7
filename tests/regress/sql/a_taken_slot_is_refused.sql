--
-- A slot that somebody has is refused, as an answer and not as an error, and
-- the answer says who has it. It does not say with which token: what is passed
-- on from a refusal must never free the other's claim.
--
SELECT facts(claim_slot('room 1', 'h1', '1 hour'));
SELECT facts(claim_slot('room 1', 'h2'));

-- Until when, and how long that is from now.
SELECT (answer->>'expires_at')::timestamptz - (answer->>'claimed_at')::timestamptz AS lease,
       (answer->>'retry_after_ms')::bigint BETWEEN 3500000 AND 3600000 AS retry_after_ms
  FROM claim_slot('room 1', 'h2') AS answer;

-- Booked: no time makes it free.
SELECT facts(confirm_slot('room 1', 'h1', 1));
SELECT facts(claim_slot('room 1', 'h2'));
SELECT claim_slot('room 1', 'h2') ?| ARRAY['expires_at', 'retry_after_ms'] AS says_when;

-- In review: only a decision makes it free.
SELECT facts(claim_slot('room 2', 'h1', '1 hour'));
SELECT facts(release_slot('room 2', 'h1', 1, in_doubt => true));
SELECT facts(claim_slot('room 2', 'h2'));

-- For a person.
SELECT claim_slot('room 1', 'h2') ->> 'message' AS message;

SELECT * FROM claims_of('room 1');
SELECT * FROM claims_of('room 2');
