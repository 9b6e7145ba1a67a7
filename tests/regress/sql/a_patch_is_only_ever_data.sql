--
-- Whatever stands in the table's name, the row's id, the fields, their values,
-- the writer or the note is a name or a value, and never a piece of a statement.
--
CREATE TABLE data_customers (id text PRIMARY KEY, plan text, "x"" = 'hacked', ""plan" text);
INSERT INTO data_customers VALUES ('1', 'free'), ($$1' OR '1'='1$$, 'free');
CREATE TABLE data_victim (id int);
INSERT INTO data_victim VALUES (1);
SELECT facts(track_rows('data_customers', keep_values => true));

SELECT state, message FROM refusal($$SELECT patch_row('data_customers; DROP TABLE data_victim', 1, 1, '{"plan": "x"}', 'w')$$);
SELECT state, message FROM refusal($$SELECT patch_row('data_customers AS t', 1, 1, '{"plan": "x"}', 'w')$$);
SELECT state, message FROM refusal($$SELECT patch_row('"data_customers; DROP TABLE data_victim"', 1, 1, '{"plan": "x"}', 'w')$$);
SELECT state, message FROM refusal($$SELECT track_rows('data_victim (id)')$$);

-- A row's id.
SELECT facts(patch_row('data_customers', $$1' OR '1'='1$$, 1, '{"plan": "pro"}', 'w'));
SELECT facts(patch_row('data_customers', $$1'; DROP TABLE data_victim; --$$, 1, '{"plan": "pro"}', 'w'));
SELECT facts(read_row('data_customers', $$' UNION SELECT '1$$));
SELECT id, plan, version FROM data_customers ORDER BY id;

-- Fields.
SELECT state, message, detail FROM refusal($$SELECT patch_row('data_customers', '1', 1, '{"plan\" = ''x'', \"id": "2"}', 'w')$$);
SELECT state, message, detail FROM refusal($$SELECT patch_row('data_customers', '1', 1, '{"plan = (SELECT 1); --": "2"}', 'w')$$);
SELECT state, message, detail FROM refusal($$SELECT own_fields('data_customers', 'w', ARRAY['plan"); DROP TABLE data_victim; --'])$$);
SELECT facts(patch_row('data_customers', '1', 1, '{"x\" = ''hacked'', \"plan": "a column of that name"}', 'w'));

-- Values, the writer and the note.
SELECT facts(patch_row('data_customers', '1', 2, $json${"plan": "'; DROP TABLE data_victim; -- $1 %L"}$json$,
             $$billing'; DROP TABLE data_victim; --$$, note => $json${"'; DROP": "TABLE data_victim; --"}$json$)) - 'row' AS answer;
SELECT facts(patch_row('data_customers', '1', 2, '{"plan": "other"}', 'w')) -> 'conflicts' AS conflicts;
SELECT message, detail FROM refusal($$UPDATE data_customers SET plan = 'other', version = 1 WHERE id = '1'$$);
SET pg_claims.writer = $$w'; DROP TABLE data_victim; --$$;
UPDATE data_customers SET plan = 'free' WHERE id = '1';
RESET pg_claims.writer;
SELECT facts(own_fields('data_customers', $$w'); DROP TABLE data_victim; --$$, ARRAY[$$x" = 'hacked', "plan$$], 'all'));
SELECT state, message, detail, hint FROM refusal($$UPDATE data_customers SET "x"" = 'hacked', ""plan" = 'y' WHERE id = '1'$$);

-- The version column's name.
CREATE TABLE data_version (id int PRIMARY KEY, v int);
SELECT facts(track_rows('data_version', $$v" int; DROP TABLE data_victim; --$$));
INSERT INTO data_version VALUES (1, 1);
SELECT facts(patch_row('data_version', 1, 1, '{"v": 2}', 'w'));
SELECT facts(untrack_rows('data_version'));

SELECT id, plan, version FROM data_customers ORDER BY id;
SELECT row_id, version, fields, new_values, writer, note FROM claims.row_history WHERE table_name = 'data_customers'::regclass ORDER BY changed_at;
TABLE data_victim;
DROP TABLE data_customers, data_victim, data_version;
