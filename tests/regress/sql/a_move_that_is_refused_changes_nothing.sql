--
-- A move onto somebody else's period is refused, and the claim stays where it was.
--
SELECT claim_period('cab 11', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'token' AS token,
       claim_period('cab 11', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 hour') ->> 'token' AS token;
SELECT facts(move_period('cab 11', 'h1', 1, '2031-01-02T09:30Z', '2031-01-02T10:30Z'));
SELECT confirm_slot('cab 11', 'h2', 2) ->> 'outcome' AS outcome;
SELECT facts(move_period('cab 11', 'h1', 1, '2031-01-02T09:30Z', '2031-01-02T10:30Z'));
SELECT * FROM claims_of('cab 11');
SELECT holds_slot('cab 11', 'h1', 1);
SELECT facts(check_period('cab 11', '2031-01-02T09:00Z', '2031-01-02T10:00Z')) ->> 'holder' AS holder;

-- Not even what had expired there has ended.
SELECT claim_period('cab 11', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z', ttl => '1 ms') ->> 'token' AS token, pg_sleep(0.02);
SELECT facts(move_period('cab 11', 'h1', 1, '2031-01-02T10:30Z', '2031-01-02T11:30Z')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('cab 11');

-- One's own other claim is in the way like any other.
SELECT claim_period('cab 11', 'h1', '2031-01-02T13:00Z', '2031-01-02T14:00Z', ttl => '1 hour') ->> 'token' AS token;
SELECT facts(move_period('cab 11', 'h1', 1, '2031-01-02T13:30Z', '2031-01-02T14:30Z'));
SELECT facts(move_period('cab 11', 'h1', NULL, '2031-01-02T15:00Z', '2031-01-02T16:00Z'));

-- Only what is claimed or booked can be moved.
SELECT facts(move_period('cab 11', 'h3', 3, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT facts(move_period('cab 11', 'h9', 1, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT facts(move_period('cab 11', 'h1', 9, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT facts(move_period('cab 12', 'h1', 1, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT release_slot('cab 11', 'h1', 4, in_doubt => true) ->> 'outcome' AS outcome;
SELECT facts(move_period('cab 11', 'h1', 4, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT release_slot('cab 11', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(move_period('cab 11', 'h1', 1, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT claim_period('cab 11', 'h4', '2031-01-02T09:30Z', '2031-01-02T10:00Z') ->> 'token' AS token;
SELECT facts(move_period('cab 11', 'h1', 1, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT cancel_slot('cab 11', 'desk', 2) ->> 'outcome' AS outcome;
SELECT facts(move_period('cab 11', 'h2', 2, '2031-01-02T17:00Z', '2031-01-02T18:00Z'));
SELECT * FROM claims_of('cab 11');
-- What is not of a period has no time that it could be moved from.
SELECT claim_slot('cab 13', 'h1') ->> 'outcome' AS outcome;
SELECT move_period('cab 13', 'h1', 1, '2031-01-02T17:00Z', '2031-01-02T18:00Z');
\echo :LAST_ERROR_SQLSTATE
SELECT set_capacity('cab 14', 1) ->> 'outcome' AS outcome, claim_units('cab 14', 'h1') ->> 'outcome' AS outcome;
SELECT state FROM refusal($$SELECT move_period('cab 14', 'h1', NULL, '2031-01-02T17:00Z', '2031-01-02T18:00Z')$$);
SELECT slot_id, token, status, period, units FROM claims.slot_claims WHERE slot_id IN ('cab 13', 'cab 14') ORDER BY 1;
SELECT count(*) AS moved FROM claims.slot_claims WHERE slot_id LIKE 'cab 1_' AND status = 'moved';
