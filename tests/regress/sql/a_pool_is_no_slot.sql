--
-- Only units are claimed of a pool, for good or for a time, and no units of a slot
-- that is none: the HINT says what to call instead.
--
SELECT set_capacity('mug 1', 2) ->> 'outcome' AS outcome;
SELECT claim_slot('mug 1', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('mug 1', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z');
\echo :LAST_ERROR_SQLSTATE
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "mug 1"}]', 'h1')$$);
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "a mug 0"}, {"slot_id": "mug 1"}]', 'h1')$$);
SELECT * FROM claims_of('a mug 0');

-- Also when there are units of it about, whoever has them.
SELECT claim_units('mug 1', 'h1') ->> 'outcome' AS outcome, claim_units('mug 1', 'h2') ->> 'outcome' AS outcome;
SELECT state, message FROM refusal($$SELECT claim_slot('mug 1', 'h1')$$);
SELECT state, message FROM refusal($$SELECT claim_slot('mug 1', 'h2')$$);
SELECT state, message FROM refusal($$SELECT claim_slot('mug 1', 'h3')$$);
SELECT state, message FROM refusal($$SELECT claim_period('mug 1', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z')$$);
SELECT state, message FROM refusal($$SELECT claim_period('mug 1', 'h3', '2031-01-02T19:00Z', '2031-01-02T21:00Z')$$);

SELECT claim_units('mug 2', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('mug 2', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => 1);
SELECT state, message FROM refusal($$SELECT claim_many('[{"slot_id": "mug 2", "units": 1}]', 'h1')$$);
SELECT claim_slot('mug 2', 'h1') ->> 'outcome' AS outcome;
SELECT state, message FROM refusal($$SELECT claim_units('mug 2', 'h1')$$);
SELECT state, message FROM refusal($$SELECT claim_units('mug 2', 'h2')$$);
SELECT * FROM claims_of('mug 1');
SELECT * FROM claims_of('mug 2');
