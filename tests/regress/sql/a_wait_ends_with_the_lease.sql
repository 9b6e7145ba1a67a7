--
-- A call that waits takes the slot as soon as the lease in its way has ended.
--
SELECT facts(claim_slot('pump 1', 'h1', '300 ms'));
SELECT clock_timestamp() AS start \gset
SELECT facts(claim_slot('pump 1', 'h2', '1 hour', wait => '20 s'));
SELECT clock_timestamp() - :'start' BETWEEN '200 ms' AND '10 s' AS in_time;
SELECT * FROM claims_of('pump 1');

-- Its own lease is counted from when it got the slot.
SELECT expires_at - claimed_at AS lease, claimed_at > :'start' AS after_the_wait
  FROM claims.slot_claims WHERE slot_id = 'pump 1' AND token = 2;

-- When the wait ends first, the slot is taken.
SELECT clock_timestamp() AS start \gset
SELECT facts(claim_slot('pump 1', 'h3', wait => '200 ms'));
SELECT clock_timestamp() - :'start' BETWEEN '180 ms' AND '10 s' AS in_time;

-- No time ends a booking or a review: they are answered at once.
SELECT facts(confirm_slot('pump 1', 'h2', 2));
SELECT facts(claim_slot('pump 2', 'h1', on_expiry => 'review'));
SELECT facts(release_slot('pump 2', 'h1', in_doubt => true));
SELECT clock_timestamp() AS start \gset
SELECT facts(claim_slot('pump 1', 'h3', wait => '50 s'));
SELECT facts(claim_slot('pump 2', 'h3', wait => '50 s'));
SELECT clock_timestamp() - :'start' < '10 s' AS at_once;

-- A lease that ends in a review frees nothing: the wait ends with it.
SELECT facts(claim_slot('pump 3', 'h1', '300 ms', on_expiry => 'review'));
SELECT clock_timestamp() AS start \gset
SELECT facts(claim_slot('pump 3', 'h2', wait => '50 s'));
SELECT clock_timestamp() - :'start' < '10 s' AS in_time;
