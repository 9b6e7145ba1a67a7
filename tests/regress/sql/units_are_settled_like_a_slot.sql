--
-- What happens to units is what happens to a slot; what ends gives its units back,
-- once, and what is booked keeps them.
--
SELECT set_capacity('ticket 1', 10) ->> 'outcome' AS outcome;
SELECT claim_units('ticket 1', 'h1', 4, '1 hour') ->> 'token' AS token, claim_units('ticket 1', 'h2', 3, '1 hour') ->> 'token' AS token,
       claim_units('ticket 1', 'h3', 2, '1 hour') ->> 'token' AS token;
SELECT holds_slot('ticket 1', 'h1', 1), require_slot('ticket 1', 'h1'), holds_slot('ticket 1', 'h1', 2);
SELECT facts(confirm_slot('ticket 1', 'h1', 1, '{"order": 7}'));
SELECT facts(confirm_slot('ticket 1', 'h1', 1));
SELECT holds_slot('ticket 1', 'h1', 1);
SELECT facts(release_slot('ticket 1', 'h1', 1));
SELECT facts(extend_slot('ticket 1', 'h2', ttl => '2 hours'));
SELECT facts(release_slot('ticket 1', 'h2', 2, 'changed his mind'));
SELECT facts(release_slot('ticket 1', 'h2', 2)) ->> 'outcome' AS outcome;
SELECT facts(release_slot('ticket 1', 'h3', in_doubt => true));
SELECT taken FROM claims.pools WHERE slot_id = 'ticket 1';
SELECT facts(resolve_slot('ticket 1', 'h3', 3, 'booked'));
SELECT taken FROM claims.pools WHERE slot_id = 'ticket 1';
SELECT facts(cancel_slot('ticket 1', 'desk', 1, 'refund'));
SELECT facts(cancel_slot('ticket 1', 'desk', 1)) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('ticket 1', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT taken FROM claims.pools WHERE slot_id = 'ticket 1';
SELECT facts(check_slot('ticket 1'));

-- Only by whom they belong to.
SELECT facts(confirm_slot('ticket 1', 'h9', 3));
SELECT facts(release_slot('ticket 1', 'h9')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('ticket 1');
SELECT facts(check_claims());
