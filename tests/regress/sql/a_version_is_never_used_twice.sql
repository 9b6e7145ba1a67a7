-- Whatever becomes of a row or its key, no later row and no later state has a version that
-- somebody may have read before: an old patch finds a conflict, and never applies.
CREATE TABLE shelf (id int PRIMARY KEY, a text);
INSERT INTO shelf VALUES (1, 'a'), (2, 'other row'), (3, 'v1');
SELECT track_rows('shelf') ->> 'outcome' AS outcome;

-- Deleted, and made again by an upsert that carries a version.
UPDATE shelf SET a = 'v2' WHERE id = 3;
DELETE FROM shelf WHERE id = 3;
INSERT INTO shelf (id, a, version) VALUES (3, 'again', 1)
  ON CONFLICT (id) DO UPDATE SET a = excluded.a, version = excluded.version;
UPDATE shelf SET a = 'later' WHERE id = 3;
SELECT id, a, version FROM shelf WHERE id = 3;
SELECT patch_row('shelf', 3, 2, '{"a": "stale"}', 'w') ->> 'outcome' AS outcome;

-- Another row gets the key of one that was deleted.
UPDATE shelf SET a = 'b' WHERE id = 1;
UPDATE shelf SET a = 'c' WHERE id = 1;
DELETE FROM shelf WHERE id = 1;
UPDATE shelf SET id = 1 WHERE id = 2;
SELECT patch_row('shelf', 1, 2, '{"a": "stale"}', 'w') ->> 'outcome' AS outcome;
SELECT id, a, version FROM shelf WHERE id = 1;

-- One partition is truncated, which the table's own trigger does not see.
CREATE TABLE crate (id int, k int, a text, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
CREATE TABLE crate_1 PARTITION OF crate FOR VALUES IN (1);
SELECT track_rows('crate') ->> 'outcome' AS outcome;
INSERT INTO crate VALUES (1, 1, 'a');
UPDATE crate SET a = 'b';
TRUNCATE crate_1;
INSERT INTO crate VALUES (1, 1, 'n0');
UPDATE crate SET a = 'n1';
SELECT patch_row('crate', '{"id": 1, "k": 1}', 2, '{"a": "stale"}', 'w') ->> 'outcome' AS outcome;
SELECT a, version FROM crate;

-- A field has another name by now.
SELECT patch_row('shelf', 1, (SELECT version FROM shelf WHERE id = 1), '{"a": "new"}', 'w1') ->> 'outcome' AS outcome;
ALTER TABLE shelf RENAME a TO z;
SELECT patch_row('shelf', 1, (SELECT version - 1 FROM shelf WHERE id = 1), '{"z": "stale"}', 'w2') ->> 'outcome' AS outcome;

-- No version is beyond counting.
INSERT INTO shelf (id, z, version) VALUES (9, 'x', 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
INSERT INTO shelf (id, z, version) VALUES (9, 'x', -5);
SELECT version FROM shelf WHERE id = 9;

-- A patch does not trust a table whose trigger is off.
ALTER TABLE shelf DISABLE TRIGGER zzz_pg_claims_guard;
SELECT patch_row('shelf', 9, 1, '{"z": "y"}', 'w');
ALTER TABLE shelf ENABLE TRIGGER zzz_pg_claims_guard;
SELECT patch_row('shelf', 9, 1, '{"z": "y"}', 'w') ->> 'outcome' AS outcome;

-- Nobody makes a row with a field that is another's, and another unique key is an error.
ALTER TABLE shelf ADD UNIQUE (z);
SELECT patch_row('shelf', 10, 0, '{"z": "y"}', 'w', create_if_absent => true);
SELECT own_fields('shelf', 'stock', '{z}') ->> 'outcome' AS outcome;
SELECT patch_row('shelf', 10, 0, '{"z": "q"}', 'w', create_if_absent => true) ->> 'outcome' AS outcome,
       patch_row('shelf', 10, 0, '{"z": "q"}', 'stock', create_if_absent => true) ->> 'outcome' AS outcome;
SELECT facts(check_claims());
SELECT untrack_rows('shelf') ->> 'outcome' AS outcome, untrack_rows('crate') ->> 'outcome' AS outcome;
DROP TABLE shelf, crate;
