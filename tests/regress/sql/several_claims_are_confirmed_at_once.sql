--
-- confirm_many books everything or nothing: when one of the claims has been lost,
-- those before it are as they were.
--
SELECT set_capacity('b 41', 5) ->> 'outcome' AS outcome;
SELECT claim_many('[{"slot_id": "a 41", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                    {"slot_id": "b 41", "units": 2}, {"slot_id": "c 41"}]', 'h1', '1 hour') AS claimed \gset
SELECT facts(answer) - 'claims' FROM confirm_many(:'claimed'::jsonb->'claims', 'h1', '{"order": 7}') AS answer;
SELECT facts(one) FROM jsonb_array_elements(confirm_many(:'claimed'::jsonb->'claims', 'h1', '{"order": 8}') -> 'claims') AS one;
SELECT slot_id, token, status, units, result FROM claims.slot_claims WHERE slot_id IN ('a 41', 'b 41', 'c 41') ORDER BY 1;

-- One is lost: none is booked, late confirms neither.
SELECT set_capacity('b 42', 5) ->> 'outcome' AS outcome;
SELECT claim_many('[{"slot_id": "a 42", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                    {"slot_id": "b 42", "units": 2}, {"slot_id": "c 42"}, {"slot_id": "d 42"}, {"slot_id": "e 42"}]', 'h1', '200 ms') AS claimed \gset
SELECT extend_slot('a 42', 'h1', 1, '1 hour') ->> 'outcome' AS outcome, pg_sleep(0.25);
-- By now: a runs, b has ended, c has only expired, d has ended and another's claim there has expired, e is another's.
SELECT release_slot('b 42', 'h1', 1) ->> 'outcome' AS outcome, claim_slot('d 42', 'h3', '1 ms') ->> 'outcome' AS outcome,
       claim_slot('e 42', 'h2', '1 hour') ->> 'outcome' AS outcome, pg_sleep(0.02);
CREATE TEMP TABLE before AS SELECT * FROM claims.slot_claims WHERE slot_id LIKE '_ 42';
SELECT facts(confirm_many(:'claimed'::jsonb->'claims', 'h1', '{"order": 9}'));
SELECT count(*) AS rows, count(*) FILTER (WHERE before = now) AS unchanged
  FROM claims.slot_claims AS now LEFT JOIN before USING (slot_id, token) WHERE slot_id LIKE '_ 42';
SELECT taken FROM claims.pools WHERE slot_id = 'b 42';
-- Without that one, all are.
SELECT one->>'slot_id' AS slot_id, one->>'outcome' AS outcome, one->>'token' AS token
  FROM jsonb_array_elements(confirm_many((:'claimed'::jsonb->'claims') - 4, 'h1') -> 'claims') AS one;
SELECT slot_id, token, holder, status, origin FROM claims.slot_claims WHERE slot_id LIKE '_ 42' ORDER BY 1, 2;
SELECT taken FROM claims.pools WHERE slot_id = 'b 42';

-- No room for the units any more.
SELECT set_capacity('b 43', 2) ->> 'outcome' AS outcome;
SELECT claim_many('[{"slot_id": "a 43"}, {"slot_id": "b 43", "units": 2}]', 'h1') AS claimed \gset
SELECT release_slot('b 43', 'h1', 1) ->> 'outcome' AS outcome, claim_units('b 43', 'h2') ->> 'outcome' AS outcome;
SELECT facts(confirm_many(:'claimed'::jsonb->'claims', 'h1'));
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id IN ('a 43', 'b 43') ORDER BY 1, 2;

-- Cancelled, somebody else's, or never there.
SELECT facts(confirm_many('[{"slot_id": "a 43", "token": 1}]', 'h9'));
SELECT facts(confirm_many('[{"slot_id": "a 43", "token": 1}, {"slot_id": "nowhere 43", "token": 1}]', 'h1'));
SELECT claim_many('[{"slot_id": "c 43"}, {"slot_id": "d 43"}]', 'h1') AS claimed \gset
SELECT confirm_slot('d 43', 'h1', 1) ->> 'outcome' AS outcome, cancel_slot('d 43', 'desk', 1) ->> 'outcome' AS outcome;
SELECT facts(confirm_many(:'claimed'::jsonb->'claims', 'h1'));
SELECT * FROM claims_of('a 43');
SELECT * FROM claims_of('c 43');

-- The same claim twice is one claim.
SELECT jsonb_array_length(confirm_many('[{"slot_id": "a 43", "token": 1}, {"slot_id": "a 43", "token": 1}]', 'h1') -> 'claims') AS claims;
-- One claim alone.
SELECT facts(answer) - 'claims' AS answer, answer #>> '{claims,0,outcome}' AS outcome
  FROM confirm_many('[{"slot_id": "c 43", "token": 1}]', 'h1') AS answer;
SELECT facts(check_claims());
