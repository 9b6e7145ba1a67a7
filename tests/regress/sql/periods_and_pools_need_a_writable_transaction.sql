--
-- What may have to write is refused where nothing can be written, and where an old snapshot
-- could make its answer wrong; what only looks works everywhere.
--
SELECT set_capacity('reef 2', 3) ->> 'outcome' AS outcome, create_series('reef 3') ->> 'outcome' AS outcome,
       next_number('reef 3', 'h1', 'order 1') ->> 'number' AS number,
       claim_period('reef 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'token' AS token;
CREATE TEMP VIEW writing AS
SELECT * FROM unnest(ARRAY[
  $$claim_period('reef 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$,
  $$move_period('reef 1', 'h1', 1, '2031-01-02T11:00Z', '2031-01-02T12:00Z')$$,
  $$set_capacity('reef 2', 4)$$,
  $$claim_units('reef 2', 'h1')$$,
  $$claim_many('[{"slot_id": "reef 4"}]', 'h1')$$,
  $$confirm_many('[{"slot_id": "reef 1", "token": 1}]', 'h1')$$,
  $$release_many('[{"slot_id": "reef 1", "token": 1}]', 'h1')$$,
  $$create_series('reef 5')$$,
  $$next_number('reef 3', 'h1')$$,
  $$next_number('reef 3', 'h1', 'order 1')$$,
  $$void_number('reef 3', 1)$$]) AS call;

BEGIN READ ONLY;
SELECT call, state, message, detail IS NOT NULL AS detail, hint IS NOT NULL AS hint FROM writing, refusal('SELECT ' || call);
SELECT check_period('reef 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS outcome, check_slot('reef 2') ->> 'outcome' AS outcome,
       free_periods('reef 1', '2031-01-02T09:00Z', '2031-01-02T11:00Z', '1 hour') ->> 'outcome' AS outcome;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT call, state, message FROM writing, refusal('SELECT ' || call);
SELECT check_period('reef 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS outcome;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT DISTINCT state FROM writing, refusal('SELECT ' || call);
COMMIT;
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id LIKE 'reef _' ORDER BY 1, 2;
SELECT capacity, taken FROM claims.pools WHERE slot_id = 'reef 2';
SELECT number, status FROM claims.numbers WHERE series = 'reef 3';
