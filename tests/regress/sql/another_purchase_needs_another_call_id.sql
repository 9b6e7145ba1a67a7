--
-- The same holder gets units once, as an agent that calls its tool twice must not
-- buy twice, unless another call_id says that it is another purchase. The same
-- call_id gets the same answer again.
--
SELECT set_capacity('book 1', 10) ->> 'outcome' AS outcome;
SELECT facts(claim_units('book 1', 'h1', 2));
SELECT facts(claim_units('book 1', 'h1', 2));
SELECT facts(claim_units('book 1', 'h1', 3));
SELECT facts(claim_units('book 1', 'h1', 2, call_id => 'c1'));
SELECT facts(claim_units('book 1', 'h1', 2, call_id => 'c1'));
SELECT facts(claim_units('book 1', 'h1', 2, call_id => 'c2')) ->> 'token' AS token;
-- The same call cannot mean another number; without a call_id it is any of them.
SELECT facts(claim_units('book 1', 'h1', 3, call_id => 'c1'));
SELECT facts(claim_units('book 1', 'h1', 1)) ->> 'outcome' AS outcome;
-- Another holder's call may bear the same name.
SELECT facts(claim_units('book 1', 'h2', 2, call_id => 'c1')) ->> 'token' AS token;
SELECT taken FROM claims.pools WHERE slot_id = 'book 1';

-- Without a token it is not clear which.
SELECT facts(confirm_slot('book 1', 'h1'));
SELECT facts(release_slot('book 1', 'h1'));
SELECT facts(confirm_slot('book 1', 'h1', 2)) ->> 'outcome' AS outcome;
-- Booked: the repeated call has bought already.
SELECT facts(claim_units('book 1', 'h1', 2, call_id => 'c1'));

-- Sold out, the repeated call still gets its own answer.
SELECT facts(set_capacity('book 1', 8)) ->> 'available' AS available;
SELECT facts(claim_units('book 1', 'h1', 2, call_id => 'c2')) ->> 'replayed' AS replayed;
SELECT facts(claim_units('book 1', 'h1', 2, call_id => 'c9')) ->> 'outcome' AS outcome;

-- Expired, it is a new claim; released, too.
SELECT set_capacity('book 2', 1) ->> 'outcome' AS outcome, claim_units('book 2', 'h1', ttl => '1 ms', call_id => 'c1') ->> 'token' AS token, pg_sleep(0.02);
SELECT facts(claim_units('book 2', 'h1', call_id => 'c1'));
SELECT facts(release_slot('book 2', 'h1', 2)) ->> 'outcome' AS outcome;
SELECT facts(claim_units('book 2', 'h1', call_id => 'c1')) ->> 'token' AS token;
SELECT token, holder, status, units, call_id FROM claims.slot_claims WHERE slot_id IN ('book 1', 'book 2') ORDER BY slot_id, token;
