--
-- What is no number of units is refused before anything is written, and so is what
-- is no capacity.
--
SELECT set_capacity('shirt 10', 5) ->> 'outcome' AS outcome;
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_units('shirt 10', 'h1', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT claim_units('shirt 10', 'h1', -1);
SELECT claim_units('shirt 10', 'h1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT claim_period('shirt 10', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => 0);
SELECT claim_period('shirt 10', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => -3);
SELECT state, detail FROM refusal($$SELECT claim_many('[{"slot_id": "shirt 10", "units": 0}]', 'h1')$$);
SELECT state FROM refusal($$SELECT claim_units('shirt 10', 'h1', 2147483648)$$);

SELECT set_capacity('shirt 10', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT set_capacity('shirt 10', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT set_capacity('shirt 11', -1);
SELECT state FROM refusal($$SELECT set_capacity('shirt 10', 2147483648)$$);
SELECT state, message FROM refusal($$SELECT set_capacity('undefined', 1)$$);
SELECT state, message FROM refusal($$SELECT set_capacity(NULL, 1)$$);

SELECT slot_id, capacity, taken FROM claims.pools WHERE slot_id IN ('shirt 10', 'shirt 11');
SELECT count(*) - :before AS written FROM claims.slot_claims;
