--
-- What patch_row, read_row, track_rows and own_fields refuse, and what they say.
-- Nothing is written by any of it.
--
CREATE TABLE bad_customers (id int PRIMARY KEY, name text NOT NULL, plan text CHECK (plan <> 'gold'), "Plan B" text,
                            made text GENERATED ALWAYS AS (name || '!') STORED, counted int GENERATED ALWAYS AS IDENTITY);
INSERT INTO bad_customers VALUES (1, 'Ann', 'free');
SELECT * FROM refusal($$SELECT read_row('bad_customers', 1)$$);
SELECT * FROM refusal($$SELECT patch_row('bad_customers', 1, 1, '{"plan": "pro"}', 'billing')$$);
SELECT * FROM refusal($$SELECT own_fields('bad_customers', 'billing', ARRAY['plan'])$$);
SELECT facts(untrack_rows('bad_customers'));
SELECT facts(track_rows('bad_customers'));

CREATE TABLE bad_calls (n int GENERATED ALWAYS AS IDENTITY, call text);
INSERT INTO bad_calls (call) VALUES
  ($$read_row(NULL, 1)$$), ($$read_row('bad_customers', NULL::text)$$), ($$read_row('bad_customers', 'undefined')$$),
  ($$read_row('no_customers', 1)$$), ($$read_row('4294967000', 1)$$),
  ($$patch_row('bad_customers', 1, NULL, '{"plan": "pro"}', 'billing')$$),
  ($$patch_row('bad_customers', 1, -1, '{"plan": "pro"}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, NULL, 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '[{"plan": "pro"}]', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '"{\"plan\": \"pro\"}"', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, 'null', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "pro"}', NULL)$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "pro"}', '[object Object]')$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "pro"}', 'billing', merge => NULL)$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "pro"}', 'billing', force => NULL)$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "pro"}', 'billing', create_if_absent => NULL)$$),
  ($$patch_row('bad_customers', 1, 1, '{"plans": "pro"}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"PLAN": "pro"}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "pro", "id": 2}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"version": 2}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"made": "x"}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"counted": 2}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"ctid": "(0,1)"}', 'billing')$$),
  -- What the table itself refuses, it says itself.
  ($$patch_row('bad_customers', 1, 1, '{"name": null}', 'billing')$$),
  ($$patch_row('bad_customers', 1, 1, '{"plan": "gold"}', 'billing')$$),
  ($$own_fields(NULL, 'billing', ARRAY['plan'])$$), ($$own_fields('bad_customers', NULL, ARRAY['plan'])$$),
  ($$own_fields('bad_customers', 'billing', NULL)$$), ($$own_fields('bad_customers', 'billing', '{}')$$),
  ($$own_fields('bad_customers', 'billing', ARRAY['plan', NULL])$$), ($$own_fields('bad_customers', 'billing', ARRAY['plan', 'plans'])$$),
  ($$own_fields('bad_customers', 'billing', ARRAY['version'])$$), ($$own_fields('bad_customers', 'billing', ARRAY['plan'], 'some')$$),
  ($$disown_fields('bad_customers', 'billing', '{}')$$), ($$disown_fields('bad_customers', '')$$),
  ($$track_rows(NULL)$$), ($$track_rows('bad_customers', NULL)$$), ($$untrack_rows(NULL)$$);
SELECT call, state, message, detail, hint FROM bad_calls, refusal('SELECT ' || call) ORDER BY n;
SELECT * FROM bad_customers;
SELECT count(*) FROM claims.row_history WHERE table_name = 'bad_customers'::regclass;

-- Tables that cannot be tracked.
CREATE TABLE bad_keyless (id int);
CREATE VIEW bad_view AS SELECT * FROM bad_customers;
CREATE TEMP TABLE bad_temporary (id int PRIMARY KEY);
CREATE TABLE bad_parent (id int PRIMARY KEY);
CREATE TABLE bad_child () INHERITS (bad_parent);
CREATE TABLE bad_column (id int PRIMARY KEY, version text);
CREATE TABLE bad_key (version int PRIMARY KEY);
CREATE TABLE bad_computed (id int, double int GENERATED ALWAYS AS (id * 2) STORED PRIMARY KEY);
SELECT name, state, message, detail, hint
  FROM unnest(ARRAY['bad_keyless', 'bad_view', 'bad_temporary', 'bad_parent', 'bad_column', 'bad_key', 'bad_computed', 'claims.slot_claims']) AS name,
       refusal(format('SELECT track_rows(%L)', name));

-- A tracked table that loses what its tracking needs.
ALTER TABLE bad_customers RENAME COLUMN version TO revision;
SELECT state, message, detail, hint FROM refusal($$UPDATE bad_customers SET plan = 'pro'$$);
SELECT state, message FROM refusal($$SELECT read_row('bad_customers', 1)$$);
SELECT check_claims() -> 'violations' AS violations;
ALTER TABLE bad_customers RENAME COLUMN revision TO version;
ALTER TABLE bad_customers DISABLE TRIGGER zzz_pg_claims_guard;
SELECT violation ->> 'what' AS what, violation ->> 'name' AS name FROM jsonb_array_elements(check_claims() -> 'violations') AS violation;
SELECT facts(track_rows('bad_customers'));
SELECT check_claims() ->> 'outcome' AS outcome;
ALTER TABLE bad_customers DROP CONSTRAINT bad_customers_pkey;
SELECT state, message, detail, hint FROM refusal($$UPDATE bad_customers SET plan = 'pro'$$);
SELECT state, message FROM refusal($$SELECT read_row('bad_customers', 1)$$);
ALTER TABLE bad_customers ADD PRIMARY KEY (id);

-- Where nothing can be written, or what is there cannot be known.
BEGIN READ ONLY;
SELECT facts(read_row('bad_customers', 1)) ->> 'outcome' AS outcome;
SELECT state, message FROM refusal($$SELECT patch_row('bad_customers', 1, 1, '{"plan": "pro"}', 'billing')$$);
SELECT state, message FROM refusal($$SELECT track_rows('bad_customers')$$);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT facts(read_row('bad_customers', 1)) ->> 'outcome' AS outcome;
SELECT state, message FROM refusal($$SELECT patch_row('bad_customers', 1, 1, '{"plan": "pro"}', 'billing')$$);
SELECT state, message FROM refusal($$SELECT own_fields('bad_customers', 'billing', ARRAY['plan'])$$);
ROLLBACK;

DROP VIEW bad_view;
DROP TABLE bad_customers, bad_calls, bad_keyless, bad_temporary, bad_child, bad_parent, bad_column, bad_key, bad_computed;
