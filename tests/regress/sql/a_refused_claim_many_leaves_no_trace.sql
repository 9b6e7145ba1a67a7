--
-- When one of several cannot be had, none is: no row, no token and no unit is left. The
-- answer is that of the first that was refused.
--
CREATE FUNCTION pg_temp.state() RETURNS text LANGUAGE sql AS $$
  SELECT md5(concat((SELECT string_agg(c::text, E'\n' ORDER BY slot_id, token) FROM claims.slot_claims AS c WHERE slot_id ~ '^(a|b|c|m|z) 3\d$'),
                    (SELECT string_agg(p::text, E'\n' ORDER BY slot_id) FROM claims.pools AS p WHERE slot_id ~ '^(a|b|c|m|z) 3\d$')))
$$;
SELECT set_capacity('b 31', 5) ->> 'outcome' AS outcome, claim_units('b 31', 'h0', 1, '1 hour') ->> 'token' AS token;
SELECT claim_units('b 31', 'h3', 2, '1 ms') ->> 'token' AS token, expired_claim('c 31', 'h3'), pg_sleep(0.02);
SELECT claim_slot('z 31', 'h2', '1 hour') ->> 'outcome' AS outcome;
SELECT set_capacity('z 32', 1) ->> 'outcome' AS outcome;
SELECT claim_period('z 33', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'outcome' AS outcome;
SELECT pg_temp.state() AS before \gset

-- Seen at the first look.
SELECT facts(claim_many('[{"slot_id": "a 31"}, {"slot_id": "b 31", "units": 3}, {"slot_id": "c 31"}, {"slot_id": "z 31"}]', 'h1'));
SELECT facts(claim_many('[{"slot_id": "a 31"}, {"slot_id": "b 31", "units": 3}, {"slot_id": "c 31"}, {"slot_id": "z 32", "units": 2}]', 'h1'));
SELECT facts(claim_many('[{"slot_id": "z 33", "starts_at": "2031-01-02T09:30Z", "ends_at": "2031-01-02T11:00Z"}, {"slot_id": "a 31"}]', 'h1'));
SELECT facts(claim_many('[{"slot_id": "b 31", "units": 5}, {"slot_id": "a 31"}]', 'h1'));
SELECT facts(claim_many('[{"slot_id": "z 31"}, {"slot_id": "z 33", "starts_at": "2031-01-02T09:30Z", "ends_at": "2031-01-02T11:00Z"}]', 'h2'));
SELECT pg_temp.state() = :'before' AS unchanged;

-- Found only when the others have been taken already: somebody comes to z 35 when a 35 has
-- just been written. All of that is taken back; only the units that had expired may stay
-- given back.
SELECT set_capacity('b 35', 5) ->> 'outcome' AS outcome, claim_units('b 35', 'h0', 1, '1 hour') ->> 'token' AS token;
SELECT claim_units('b 35', 'h3', 2, '1 ms') ->> 'token' AS token, expired_claim('c 35', 'h3'), pg_sleep(0.02);
CREATE FUNCTION pg_temp.come_between() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'z 35 is %', public.claim_slot('z 35', 'h2', '1 hour') ->> 'outcome';
  RETURN NULL;
END
$$;
CREATE TRIGGER come_between AFTER INSERT ON claims.slot_claims FOR EACH ROW WHEN (NEW.slot_id = 'a 35') EXECUTE FUNCTION pg_temp.come_between();
BEGIN;
SELECT facts(claim_many('[{"slot_id": "a 35"}, {"slot_id": "b 35", "units": 3}, {"slot_id": "c 35"}, {"slot_id": "z 35"}]', 'h1'));
COMMIT;
DROP TRIGGER come_between ON claims.slot_claims;
SELECT * FROM claims_of('z 35');
SELECT slot_id, token, holder, status FROM claims.slot_claims
 WHERE slot_id IN ('a 35', 'b 35', 'c 35') AND (slot_id, token) <> ('b 35', 2) ORDER BY 1, 2;
SELECT taken = (SELECT sum(units) FROM claims.slot_claims WHERE slot_id = 'b 35' AND ended_at IS NULL) AS the_sum
  FROM claims.pools WHERE slot_id = 'b 35';
SELECT check_slot('b 35') ->> 'available' AS available;
SELECT facts(claim_many('[{"slot_id": "a 35"}, {"slot_id": "b 35", "units": 4}, {"slot_id": "c 35"}]', 'h1')) ->> 'outcome' AS outcome;
SELECT slot_id, token, holder FROM claims.active WHERE slot_id IN ('a 35', 'b 35', 'c 35') ORDER BY 1, 2;

-- The whole of a pool: an error, which takes everything back.
SELECT pg_temp.state() AS before \gset
SELECT state FROM refusal($$SELECT claim_many('[{"slot_id": "a 31"}, {"slot_id": "b 31", "units": 3}, {"slot_id": "c 31"}, {"slot_id": "z 32"}]', 'h1')$$);
SELECT pg_temp.state() = :'before' AS unchanged;

-- Within a transaction that goes on and commits.
BEGIN;
SELECT claim_slot('m 31', 'h1') ->> 'outcome' AS outcome;
SELECT facts(claim_many('[{"slot_id": "a 31"}, {"slot_id": "b 31", "units": 3}, {"slot_id": "c 31"}, {"slot_id": "z 31"}]', 'h1')) ->> 'outcome' AS outcome;
COMMIT;
SELECT release_slot('m 31', 'h1', 1) ->> 'outcome' AS outcome;
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id ~ '^(a|b|c|m|z) 3[1-4]$' ORDER BY 1, 2;
SELECT slot_id, capacity, taken FROM claims.pools WHERE slot_id ~ '^(a|b|c|m|z) 3[1-4]$' ORDER BY 1;

-- Nothing is in anybody's way, and the tokens begin where they would have begun.
SELECT facts(claim_many('[{"slot_id": "a 31"}, {"slot_id": "b 31", "units": 4}]', 'h4')) #>> '{claims,0,token}' AS token;

-- A wait for the one that is in the way ends with its lease; then all are had.
SELECT claim_slot('z 34', 'h2', '300 ms') ->> 'outcome' AS outcome;
SELECT facts(claim_many('[{"slot_id": "a 34"}, {"slot_id": "z 34"}]', 'h1', wait => '50 ms')) ->> 'outcome' AS outcome;
SELECT facts(answer) ->> 'outcome' AS outcome, answer #>> '{claims,0,token}' AS token, answer #>> '{claims,1,previous_holder}' AS previous_holder
  FROM claim_many('[{"slot_id": "a 34"}, {"slot_id": "z 34"}]', 'h1', wait => '30 s') AS answer;
SELECT facts(check_claims());
