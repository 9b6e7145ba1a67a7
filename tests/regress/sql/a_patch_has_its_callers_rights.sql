--
-- Nobody can write, or read, with patch_row and read_row what they could not
-- without; and nobody's code gets more rights by way of the triggers.
--
CREATE ROLE regress_rows_owner;
CREATE ROLE regress_rows_writer;
CREATE ROLE regress_rows_reader;
CREATE ROLE regress_rows_stranger;
SELECT r, claims.grant_access(r::regrole) ->> 'outcome' AS outcome
  FROM unnest(ARRAY['regress_rows_owner', 'regress_rows_writer', 'regress_rows_reader']) AS r;
CREATE SCHEMA rights AUTHORIZATION regress_rows_owner;
GRANT USAGE ON SCHEMA rights TO PUBLIC;

SET ROLE regress_rows_owner;
CREATE TABLE rights.customers (id int PRIMARY KEY, tenant text, plan text, email text);
INSERT INTO rights.customers VALUES (1, 'regress_rows_writer', 'free', 'a@x'), (2, 'regress_rows_owner', 'free', 'b@x');
GRANT SELECT, UPDATE (plan) ON rights.customers TO regress_rows_writer;
GRANT SELECT ON rights.customers TO regress_rows_reader;
GRANT SELECT, UPDATE, INSERT, DELETE ON rights.customers TO regress_rows_stranger;
RESET ROLE;

-- Only the table's owner says whether it is tracked, and who owns what.
SET ROLE regress_rows_writer;
SELECT * FROM refusal($$SELECT track_rows('rights.customers')$$);
RESET ROLE;
SET ROLE regress_rows_owner;
SELECT facts(track_rows('rights.customers', keep_values => true));
RESET ROLE;
SET ROLE regress_rows_writer;
SELECT state, message FROM refusal($$SELECT untrack_rows('rights.customers')$$);
SELECT state, message FROM refusal($$SELECT own_fields('rights.customers', 'me', ARRAY['plan'])$$);
SELECT state, message FROM refusal($$SELECT disown_fields('rights.customers', 'me')$$);

-- A column that may be updated, and one that may not.
SELECT facts(patch_row('rights.customers', 1, 1, '{"plan": "pro"}', 'writer'));
SELECT state, message FROM refusal($$SELECT patch_row('rights.customers', 1, 2, '{"email": "me@x"}', 'writer')$$);
SELECT state, message FROM refusal($$SELECT patch_row('rights.customers', 3, 0, '{"plan": "pro"}', 'writer', create_if_absent => true)$$);
RESET ROLE;
SET ROLE regress_rows_reader;
SELECT facts(read_row('rights.customers', 1)) ->> 'outcome' AS outcome;
SELECT state, message FROM refusal($$SELECT patch_row('rights.customers', 1, 2, '{"plan": "team"}', 'reader')$$);
-- What needs no writing is answered.
SELECT facts(patch_row('rights.customers', 1, 2, '{"plan": "pro"}', 'reader')) ->> 'outcome' AS outcome;
RESET ROLE;

-- A role that was not let in cannot call, but writes to the table as ever, and is recorded.
SET ROLE regress_rows_stranger;
SELECT state, message FROM refusal($$SELECT read_row('rights.customers', 1)$$);
SELECT state, message FROM refusal($$SELECT patch_row('rights.customers', 1, 2, '{"plan": "team"}', 'stranger')$$);
UPDATE rights.customers SET email = 'stranger@x' WHERE id = 1;
INSERT INTO rights.customers VALUES (3, 'regress_rows_stranger', 'free', 'c@x');
DELETE FROM rights.customers WHERE id = 3;
SELECT state, message FROM refusal($$SELECT * FROM claims.row_history$$);
SELECT state, message FROM refusal($$CREATE TRIGGER mine BEFORE UPDATE ON rights.customers FOR EACH ROW EXECUTE FUNCTION claims.guard_row()$$);
RESET ROLE;
SELECT row_id, version, action, fields, writer FROM claims.row_history WHERE table_name = 'rights.customers'::regclass ORDER BY changed_at;

-- Nobody writes the bookkeeping.
SET ROLE regress_rows_owner;
SELECT state, message
  FROM unnest(ARRAY['INSERT INTO claims.field_owners VALUES (''rights.customers'', ''plan'', ''me'', ''all'', now())', 'DELETE FROM claims.row_fields',
                    'UPDATE claims.row_history SET writer = ''me''', 'TRUNCATE claims.tracked_tables']) AS statement, refusal(statement);
RESET ROLE;

-- Row security.
SET ROLE regress_rows_owner;
ALTER TABLE rights.customers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON rights.customers USING (tenant = current_user);
RESET ROLE;
SET ROLE regress_rows_writer;
SELECT facts(read_row('rights.customers', 1)) ->> 'outcome' AS own, facts(read_row('rights.customers', 2)) ->> 'outcome' AS anothers;
SELECT facts(patch_row('rights.customers', 1, 3, '{"plan": "team"}', 'writer')) ->> 'outcome' AS own,
       facts(patch_row('rights.customers', 2, 1, '{"plan": "team"}', 'writer')) ->> 'outcome' AS anothers;
RESET ROLE;
SELECT id, plan, email, version FROM rights.customers ORDER BY id;

-- Code that comes with the table runs with the rights of whoever writes: a cast to json,
-- which row_to_json calls, and a trigger.
CREATE TABLE rights.seen (what text, by name);
GRANT INSERT, SELECT ON rights.seen TO PUBLIC;
CREATE TYPE rights.spy AS ENUM ('x');
CREATE FUNCTION rights.spy_json(rights.spy) RETURNS json LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO rights.seen VALUES ('cast', current_user); RETURN to_json($1::text); END $$;
CREATE CAST (rights.spy AS json) WITH FUNCTION rights.spy_json(rights.spy);
CREATE FUNCTION rights.spy_trigger() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO rights.seen VALUES ('trigger', current_user); RETURN NEW; END $$;
CREATE TABLE rights.spied (id int PRIMARY KEY, spy rights.spy, v int);
CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON rights.spied FOR EACH ROW EXECUTE FUNCTION rights.spy_trigger();
SELECT track_rows('rights.spied') ->> 'outcome' AS outcome;
GRANT ALL ON rights.spied TO regress_rows_writer;
SET ROLE regress_rows_writer;
INSERT INTO rights.spied VALUES (1, 'x', 1);
UPDATE rights.spied SET v = 2;
SELECT patch_row('rights.spied', 1, 2, '{"v": 3}', 'writer') ->> 'outcome' AS outcome;
SELECT read_row('rights.spied', 1) ->> 'outcome' AS outcome;
DELETE FROM rights.spied;
RESET ROLE;
SELECT what, by, count(*) > 0 AS seen FROM rights.seen GROUP BY 1, 2 ORDER BY 1, 2;

-- What the caller puts in the way is not looked at.
SET ROLE regress_rows_writer;
CREATE TEMP TABLE row_fields (table_name regclass, row_id text, field text, version bigint, writer text, changed_at timestamptz);
CREATE TEMP TABLE pg_attribute (attname text);
SET search_path = pg_temp, public;
SELECT facts(patch_row('rights.customers', 1, 4, '{"plan": "free"}', 'writer')) ->> 'outcome' AS outcome;
SHOW search_path;
SELECT current_user, session_user = current_user AS is_login;
TABLE row_fields;
DROP TABLE row_fields, pg_temp.pg_attribute;
RESET search_path;
RESET ROLE;
-- After an error that was caught, everything is as before.
SET ROLE regress_rows_owner;
DO $$
BEGIN
  UPDATE rights.customers SET plan = 'x', version = 1 WHERE id = 1;
EXCEPTION WHEN triggered_data_change_violation THEN
  RAISE NOTICE 'as %, path %', current_user, current_setting('search_path');
END
$$;
RESET ROLE;

-- In a SECURITY DEFINER function it is still the caller who writes.
CREATE FUNCTION rights.upgrade() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ UPDATE rights.customers SET plan = 'team' WHERE id = 2 $$;
SET ROLE regress_rows_stranger;
SELECT rights.upgrade();
RESET ROLE;
SELECT writer FROM claims.row_history WHERE table_name = 'rights.customers'::regclass AND row_id = '2';

SET client_min_messages = warning;
DROP SCHEMA rights CASCADE;
SELECT count(claims.revoke_access(r::regrole)) FROM unnest(ARRAY['regress_rows_owner', 'regress_rows_writer', 'regress_rows_reader']) AS r;
DROP ROLE regress_rows_owner, regress_rows_writer, regress_rows_reader, regress_rows_stranger;
