--
-- What is known of a tracked row: its changes, and that a row which gets the key
-- of one that is gone is another row.
--
CREATE TABLE past_customers (id int PRIMARY KEY, name text, plan text);
INSERT INTO past_customers VALUES (1, 'Ann', 'free');
SELECT facts(track_rows('past_customers', keep_values => true));

-- Deleted, and made anew: a patch of the old one is a conflict.
DELETE FROM past_customers WHERE id = 1;
INSERT INTO past_customers VALUES (1, 'Another', NULL) RETURNING *;
SELECT facts(patch_row('past_customers', 1, 1, '{"plan": "pro"}', 'billing'));
SELECT facts(patch_row('past_customers', 1, 2, '{"plan": "pro"}', 'billing')) ->> 'outcome' AS outcome;
SELECT facts(patch_row('past_customers', 1, 3, '{"plan": "pro"}', 'billing', note => '{"ticket": 7}')) ->> 'outcome' AS outcome;
-- A change that was rolled back never was.
BEGIN;
UPDATE past_customers SET plan = 'team';
ROLLBACK;

-- Under another key.
UPDATE past_customers SET id = 2 WHERE id = 1 RETURNING *;
SELECT facts(patch_row('past_customers', 1, 4, '{"plan": "team"}', 'billing')) ->> 'outcome' AS outcome;
SELECT facts(patch_row('past_customers', 2, 4, '{"plan": "team"}', 'billing')) ->> 'outcome' AS outcome;
SELECT facts(patch_row('past_customers', 2, 5, '{"plan": "team"}', 'billing')) ->> 'outcome' AS outcome;
INSERT INTO past_customers VALUES (1, 'Third', NULL) RETURNING *;
-- Two that change places.
UPDATE past_customers SET id = 3 - id + 10;
SELECT * FROM past_customers ORDER BY id;
SELECT id, facts(patch_row('past_customers', id, 6, '{"plan": "free"}', 'billing')) ->> 'outcome' AS outcome FROM past_customers ORDER BY id;

-- All gone at once.
TRUNCATE past_customers;
INSERT INTO past_customers VALUES (12, 'Fourth', NULL) RETURNING *;
SELECT row_id, version, action, fields, old_values, new_values, writer, note FROM claims.row_history
 WHERE table_name = 'past_customers'::regclass ORDER BY changed_at, row_id;
SELECT row_id, field, version, writer FROM claims.row_fields WHERE table_name = 'past_customers'::regclass ORDER BY 1, 2;

-- The retention.
SELECT facts(reap_stale_claims()) ->> 'outcome' AS outcome;
UPDATE claims.row_history SET changed_at = now() - interval '31 days' WHERE table_name = 'past_customers'::regclass AND version < 6;
UPDATE claims.reaper_runs SET purged_claims = NULL;
SELECT facts(reap_stale_claims()) ->> 'outcome' AS outcome;
SELECT DISTINCT version FROM claims.row_history WHERE table_name = 'past_customers'::regclass ORDER BY 1;

-- Untracked: only the column stays.
SELECT facts(untrack_rows('past_customers'));
SELECT facts(untrack_rows('past_customers'));
SELECT tgname FROM pg_trigger WHERE tgrelid = 'past_customers'::regclass;
SELECT (SELECT count(*) FROM claims.row_history WHERE table_name = 'past_customers'::regclass) AS history,
       (SELECT count(*) FROM claims.row_fields WHERE table_name = 'past_customers'::regclass) AS fields;
UPDATE past_customers SET plan = 'free', version = 1 RETURNING *;
-- And again.
SELECT facts(track_rows('past_customers'));
SELECT facts(patch_row('past_customers', 12, 1, '{"plan": "pro"}', 'billing')) ->> 'outcome' AS outcome;

-- A table that is dropped leaves nothing behind, once the reaper has looked.
SELECT 'past_customers'::regclass::oid AS gone \gset
DROP TABLE past_customers;
SELECT count(*) FROM claims.tracked_tables WHERE table_name = :gone;
SELECT check_claims() ->> 'outcome' AS outcome;
UPDATE claims.reaper_runs SET purged_claims = NULL;
SELECT facts(reap_stale_claims()) ->> 'outcome' AS outcome;
SELECT (SELECT count(*) FROM claims.tracked_tables WHERE table_name = :gone) AS tables,
       (SELECT count(*) FROM claims.row_history WHERE table_name = :gone) AS history,
       (SELECT count(*) FROM claims.row_fields WHERE table_name = :gone) AS fields;
