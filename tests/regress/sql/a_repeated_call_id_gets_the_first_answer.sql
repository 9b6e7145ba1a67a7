--
-- When an answer was lost on the way and the very same call is repeated, it
-- gets the first answer again.
--
SELECT claim_slot('kiosk 1', 'h1', '1 hour', call_id => '71:0:0') AS first \gset
SELECT claim_slot('kiosk 1', 'h1', '1 hour', call_id => '71:0:0') AS again \gset
SELECT facts(:'first');
SELECT facts(:'again');
SELECT :'again'::jsonb - 'replayed' = :'first'::jsonb AS the_same_answer;
SELECT * FROM claims_of('kiosk 1');

-- Another call is another call, and so is one that has no name.
SELECT facts(claim_slot('kiosk 1', 'h1', call_id => '71:0:1'));
SELECT facts(claim_slot('kiosk 1', 'h1'));

-- Another holder's call is never the same.
SELECT facts(claim_slot('kiosk 1', 'h2', call_id => '71:0:0'));

-- On another slot it is another call.
SELECT facts(claim_slot('kiosk 2', 'h1', call_id => '71:0:0'));

-- A claim that took over an expired one says so again.
SELECT expired_claim('kiosk 3', 'h1');
SELECT facts(claim_slot('kiosk 3', 'h2', '1 hour', call_id => '72:0:0'));
SELECT facts(claim_slot('kiosk 3', 'h2', '1 hour', call_id => '72:0:0'));

-- Only while the claim lives: once booked, it is said to be;
SELECT facts(confirm_slot('kiosk 1', 'h1', 1));
SELECT facts(claim_slot('kiosk 1', 'h1', call_id => '71:0:0'));

-- once its lease has run out, it is a new claim;
SELECT facts(claim_slot('kiosk 4', 'h1', '1 ms', call_id => '73:0:0'));
SELECT pg_sleep(0.02);
SELECT facts(claim_slot('kiosk 4', 'h1', '1 hour', call_id => '73:0:0'));

-- once it is released, too.
SELECT facts(release_slot('kiosk 4', 'h1', 2));
SELECT facts(claim_slot('kiosk 4', 'h1', '1 hour', call_id => '73:0:0'));
SELECT * FROM claims_of('kiosk 4');
