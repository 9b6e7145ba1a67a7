--
-- A second call by the same holder for a time that it has already is refused, as
-- an agent that calls its tool twice must not book twice; with the call_id of
-- the first call it is the same call, and gets its answer again.
--
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1'));
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:30Z', '2031-01-02T10:30Z'));
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c2'));
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1'));
-- The same instants in another spelling; another period is another request.
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T10:00+01:00', '"2031-01-02T11:00:00+01:00"', call_id => 'c1')) ->> 'replayed' AS replayed;
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:30Z', call_id => 'c1'));
-- Somebody else's call may bear the same name.
SELECT facts(claim_period('guide 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1'));
-- Another time of the same slot is another booking.
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z')) ->> 'outcome' AS outcome;

-- Booked since: no longer the answer of a claim.
SELECT confirm_slot('guide 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_period('guide 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1'));

-- The answer to a takeover comes again with whom it took over from.
SELECT claim_period('guide 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(claim_period('guide 2', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1'))
     = facts(claim_period('guide 2', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1')) - 'replayed' AS the_same;

-- With an expired lease it is a new claim.
SELECT claim_period('guide 3', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms', call_id => 'c1') ->> 'token' AS token, pg_sleep(0.02);
SELECT facts(claim_period('guide 3', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', call_id => 'c1'));
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id LIKE 'guide _' ORDER BY 1, 2;
