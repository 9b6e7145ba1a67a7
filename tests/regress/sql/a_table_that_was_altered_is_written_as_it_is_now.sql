--
-- What is kept of a table from one call to the next is thrown away when somebody
-- alters it: every column, default, constraint, index and right of today is heeded.
--
CREATE FUNCTION a_round(slot text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(answer ->> 'outcome', ', ' ORDER BY n) FROM unnest(ARRAY[
      claim_slot(slot, 'h1'), claim_slot(slot, 'h2'), confirm_slot(slot, 'h1', result => '{"seen": 1}'),
      set_capacity(slot || ' pool', 2), claim_units(slot || ' pool', 'h1'), release_slot(slot || ' pool', 'h1'),
      begin_key(slot, 'h1'), begin_key(slot, 'h2'), finish_key(slot, 'h1', 1)
    ]) WITH ORDINALITY AS call (answer, n)
$$;
SELECT a_round('altered 1');

-- Columns, with and without defaults, and gone again.
ALTER TABLE claims.slot_claims ADD COLUMN tenant text NOT NULL DEFAULT 'of ' || current_user;
ALTER TABLE claims.keys ADD COLUMN seen integer GENERATED ALWAYS AS IDENTITY, ADD COLUMN twice integer GENERATED ALWAYS AS (token * 2) STORED;
SELECT a_round('altered 2');
SELECT bool_and(tenant = 'of ' || current_user) AS has_the_default FROM claims.slot_claims WHERE slot_id LIKE 'altered _';
SELECT count(DISTINCT seen), min(twice) FROM claims.keys WHERE key LIKE 'altered _';
ALTER TABLE claims.slot_claims DROP COLUMN tenant;
ALTER TABLE claims.keys DROP COLUMN seen, DROP COLUMN twice;
SELECT a_round('altered 3');

-- A type of the same kind, with a length.
BEGIN;
TRUNCATE claims.slot_claims;
ALTER TABLE claims.slot_claims ALTER COLUMN call_id TYPE varchar(5);
SELECT state, message FROM refusal($$ SELECT claim_slot('altered 4', 'h1', call_id => 'too long') $$);
SELECT facts(claim_slot('altered 4', 'h1', call_id => 'short')) ->> 'outcome' AS outcome;
ROLLBACK;

-- A constraint, whose function reads the table: it sees what this statement has done.
CREATE FUNCTION claims_of_holder(who text) RETURNS bigint STABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT count(*) FROM claims.slot_claims WHERE holder = who);
END
$$;
ALTER TABLE claims.slot_claims ADD CONSTRAINT two_at_most CHECK (holder <> 'greedy' OR ended_at IS NOT NULL OR public.claims_of_holder(holder) < 2);
SELECT state, message FROM refusal($$ SELECT claim_slot('altered 5 ' || n, 'greedy') FROM generate_series(1, 3) AS n $$);
SELECT a_round('altered 5');
-- Another function under the same name.
CREATE OR REPLACE FUNCTION claims_of_holder(who text) RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT 0::bigint $$;
SELECT count(*) FROM (SELECT claim_slot('altered 5 ' || n, 'greedy') AS a FROM generate_series(1, 3) AS n) AS _ WHERE (a ->> 'ok')::boolean;
CREATE OR REPLACE FUNCTION claims_of_holder(who text) RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT 9::bigint $$;
SELECT state, message FROM refusal($$ SELECT claim_slot('altered 5 4', 'greedy') $$);
ALTER TABLE claims.slot_claims DROP CONSTRAINT two_at_most;
DROP FUNCTION claims_of_holder;

-- A constraint that claims by the way.
CREATE FUNCTION busy_body(slot text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF slot = 'altered 6' THEN
    RETURN public.claim_slot('altered 6 too', 'h1') ->> 'outcome';
  END IF;
  RETURN slot;
END
$$;
ALTER TABLE claims.slot_claims ADD CONSTRAINT busy CHECK (public.busy_body(slot_id) <> 'busy');
SELECT claim_slot('altered 6', 'h1') ->> 'outcome' AS outcome;
SELECT * FROM claims_of('altered 6 too');
ALTER TABLE claims.slot_claims DROP CONSTRAINT busy;
DROP FUNCTION busy_body;

-- Indexes of somebody's: of an expression, of blocks, of words, and one made concurrently.
CREATE UNIQUE INDEX CONCURRENTLY by_reason ON claims.slot_claims (lower(reason)) WHERE reason LIKE 'only%';
CREATE INDEX by_block ON claims.slot_claims USING brin (ended_at);
CREATE INDEX by_word ON claims.slot_claims USING gin (result);
CREATE INDEX by_expiry ON claims.keys USING brin (lease_expires_at, finished_at);
SELECT a_round('altered 9');
SELECT facts(claim_slot('altered 7', 'h1')) ->> 'outcome' AS outcome, facts(claim_slot('altered 8', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(release_slot('altered 7', 'h1', reason => 'Only me')) ->> 'outcome' AS outcome;
SELECT facts(release_slot('altered 8', 'h1', reason => 'only me')) ->> 'outcome' AS outcome;
SELECT state, message FROM refusal($$ SELECT claim_slot('altered 7', 'h1'), release_slot('altered 7', 'h1', reason => 'only me') $$);
SET enable_seqscan = off;
SELECT slot_id FROM claims.slot_claims WHERE result @> '{"seen": 1}' AND slot_id LIKE 'altered %' ORDER BY slot_id COLLATE "C";
SELECT count(*) FROM claims.keys WHERE finished_at > now() - interval '1 hour' AND key LIKE 'altered _';
RESET enable_seqscan;
REINDEX TABLE claims.slot_claims;
REINDEX INDEX CONCURRENTLY claims.slot_claims_pkey;
DROP INDEX CONCURRENTLY claims.by_reason;
DROP INDEX claims.by_block, claims.by_word, claims.by_expiry;
SELECT a_round('altered A');

-- Another key of the same name, which falls instead of rising.
BEGIN;
ALTER TABLE claims.slot_claims DROP CONSTRAINT slot_claims_pkey;
CREATE UNIQUE INDEX slot_claims_pkey ON claims.slot_claims (slot_id, token DESC);
SELECT claim_slot('altered B', 'h1') ->> 'token' AS token, release_slot('altered B', 'h1') ->> 'outcome' AS outcome,
       claim_slot('altered B', 'h1') ->> 'token' AS token, release_slot('altered B', 'h1') ->> 'outcome' AS outcome,
       claim_slot('altered B', 'h1') ->> 'token' AS token;
ROLLBACK;

-- Moved, packed and emptied.
VACUUM FULL claims.slot_claims, claims.pools, claims.keys;
CLUSTER claims.slot_claims USING slot_claims_pkey;
SELECT a_round('altered C');
BEGIN;
SELECT a_round('altered D');
TRUNCATE claims.slot_claims, claims.pools, claims.keys;
SELECT a_round('altered D');
SELECT count(*) FROM claims.slot_claims;
ROLLBACK;
SELECT count(*) FROM claims.slot_claims WHERE slot_id LIKE 'altered D%';

-- Without the rights to write, even the owner is refused, and so is another owner of a function.
SELECT current_user AS owner \gset
BEGIN;
CREATE ROLE somebody;
ALTER TABLE claims.slot_claims OWNER TO somebody;
REVOKE ALL ON claims.slot_claims FROM somebody, :owner;
GRANT SELECT, UPDATE ON claims.slot_claims TO somebody;
GRANT USAGE ON SCHEMA claims TO somebody;
GRANT SELECT ON claims.pools TO somebody;
ALTER FUNCTION claim_slot OWNER TO somebody;
SELECT state, message FROM refusal($$ SELECT claim_slot('altered E', 'h1') $$);
GRANT INSERT ON claims.slot_claims TO somebody;
SELECT facts(claim_slot('altered E', 'h1')) ->> 'outcome' AS outcome;
REVOKE SELECT ON claims.pools FROM somebody;
SELECT state, message FROM refusal($$ SELECT claim_slot('altered F', 'h1') $$);
ROLLBACK;

-- Made anew.
BEGIN;
DROP EXTENSION pg_claims;
CREATE EXTENSION pg_claims;
SELECT a_round('altered G');
SELECT count(*) FROM claims.slot_claims;
ROLLBACK;
SELECT a_round('altered H');
DROP FUNCTION a_round;
SELECT check_claims() ->> 'outcome' AS outcome;
