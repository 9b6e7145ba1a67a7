--
-- release_many gives everything back or nothing: when one of the claims is booked or
-- lost, the others stay.
--
SELECT set_capacity('b 51', 5) ->> 'outcome' AS outcome;
SELECT claim_many('[{"slot_id": "a 51", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                    {"slot_id": "b 51", "units": 2}, {"slot_id": "c 51"}]', 'h1', '1 hour') AS claimed \gset
SELECT confirm_slot('c 51', 'h1', 1) ->> 'outcome' AS outcome;
CREATE TEMP TABLE before AS SELECT * FROM claims.slot_claims WHERE slot_id LIKE '_ 51';
SELECT facts(release_many(:'claimed'::jsonb->'claims', 'h1', 'no money'));
SELECT facts(release_many(:'claimed'::jsonb->'claims', 'h1', in_doubt => true)) ->> 'outcome' AS outcome;
SELECT count(*) AS rows, count(*) FILTER (WHERE before = now) AS unchanged
  FROM claims.slot_claims AS now LEFT JOIN before USING (slot_id, token) WHERE slot_id LIKE '_ 51';
SELECT taken FROM claims.pools WHERE slot_id = 'b 51';

-- Without that one, all are; and again.
SELECT facts(answer) - 'claims' FROM release_many((:'claimed'::jsonb->'claims') - 2, 'h1', 'no money') AS answer;
SELECT facts(one) FROM jsonb_array_elements(release_many((:'claimed'::jsonb->'claims') - 2, 'h1') -> 'claims') AS one;
SELECT taken FROM claims.pools WHERE slot_id = 'b 51';
SELECT slot_id, token, status, ended_by, reason FROM claims.slot_claims WHERE slot_id LIKE '_ 51' ORDER BY 1, 2;

-- In doubt they all stay blocked.
SELECT claim_many('[{"slot_id": "a 52"}, {"slot_id": "b 51", "units": 3}]', 'h1', '1 hour') AS claimed \gset
SELECT facts(answer) - 'claims' AS answer, answer #>> '{claims,0,outcome}' AS outcome, answer #>> '{claims,1,outcome}' AS outcome
  FROM release_many(:'claimed'::jsonb->'claims', 'h1', 'timeout', in_doubt => true) AS answer;
SELECT slot_id, token, units, reason FROM claims.needs_check WHERE slot_id IN ('a 52', 'b 51') ORDER BY 1;
SELECT taken FROM claims.pools WHERE slot_id = 'b 51';

-- One is lost: nobody else's is freed, and one's own others are not either.
SELECT claim_many('[{"slot_id": "a 53"}, {"slot_id": "b 53"}]', 'h1', '200 ms') AS claimed \gset
SELECT extend_slot('a 53', 'h1', 1, '1 hour') ->> 'outcome' AS outcome, pg_sleep(0.25);
SELECT claim_slot('b 53', 'h2', '1 hour') ->> 'outcome' AS outcome;
SELECT facts(release_many(:'claimed'::jsonb->'claims', 'h1'));
SELECT facts(release_many(:'claimed'::jsonb->'claims', 'h9'));
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id IN ('a 53', 'b 53') ORDER BY 1, 2;
SELECT facts(check_claims());
