--
-- An agent that calls its tool twice must not book twice: a second call by the
-- same holder is a second call. The answer is its own claim.
--
SELECT facts(claim_slot('desk 1', 'h1', '1 hour'));
SELECT facts(claim_slot('desk 1', 'h1', '2 hours'));
SELECT claim_slot('desk 1', 'h1') ->> 'message' AS message;

-- It says whether it is booked.
SELECT facts(confirm_slot('desk 1', 'h1', 1));
SELECT facts(claim_slot('desk 1', 'h1'));

-- A holder is a name: another spelling is another holder.
SELECT facts(claim_slot('desk 1', 'H1'));

-- When the lease is over, it is claimed anew like any other.
SELECT expired_claim('desk 2', 'h1');
SELECT facts(claim_slot('desk 2', 'h1'));

SELECT * FROM claims_of('desk 1');
SELECT * FROM claims_of('desk 2');
