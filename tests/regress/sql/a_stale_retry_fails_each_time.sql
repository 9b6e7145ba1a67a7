--
-- A retry that replays what it had read long ago is a conflict however often it
-- is tried. It succeeds from a fresh read.
--
CREATE TABLE retry_customers (id int PRIMARY KEY, plan text, email text);
INSERT INTO retry_customers VALUES (1, 'free', 'ann@example.com');
SELECT facts(track_rows('retry_customers', keep_values => true));

SELECT facts(patch_row('retry_customers', 1, 1, '{"plan": "pro"}', 'billing'));
SELECT facts(patch_row('retry_customers', 1, 1, '{"plan": "team", "email": "sales@example.com"}', 'sales'));
SELECT facts(patch_row('retry_customers', 1, 1, '{"plan": "team", "email": "sales@example.com"}', 'sales')) -> 'conflicts' AS conflicts;
SELECT facts(patch_row('retry_customers', 1, 1, '{"plan": "team", "email": "sales@example.com"}', 'sales')) -> 'conflicts' AS conflicts;
SELECT * FROM retry_customers;

-- What a person or a model decides by: who, and when.
SELECT conflict ->> 'changed_by' AS changed_by, (conflict ->> 'changed_at')::timestamptz BETWEEN now() - interval '1 min' AND clock_timestamp() AS lately
  FROM jsonb_array_elements(patch_row('retry_customers', 1, 1, '{"plan": "team"}', 'sales') -> 'conflicts') AS conflict;

-- From a fresh read.
SELECT facts(read_row('retry_customers', 1));
SELECT facts(patch_row('retry_customers', 1, 2, '{"plan": "team", "email": "sales@example.com"}', 'sales'));

-- The answer was lost, and the call is repeated: that is no conflict, even when
-- others have changed other fields since.
SELECT facts(patch_row('retry_customers', 1, 2, '{"plan": "team", "email": "sales@example.com"}', 'sales'));
SELECT facts(patch_row('retry_customers', 1, 3, '{"email": "ann@example.com"}', 'form'));
SELECT facts(patch_row('retry_customers', 1, 2, '{"plan": "team"}', 'sales'));
-- One field is as wanted, the other is not.
SELECT facts(patch_row('retry_customers', 1, 2, '{"plan": "team", "email": "sales@example.com"}', 'sales'));

-- Case 30: two changes of different columns, both made from version 4.
SELECT facts(patch_row('retry_customers', 1, 4, '{"plan": "free"}', 'billing'));
SELECT facts(patch_row('retry_customers', 1, 4, '{"email": "case30@example.com"}', 'form'));
SELECT * FROM retry_customers;
-- Without merging, the second is told of the first.
SELECT facts(patch_row('retry_customers', 1, 6, '{"plan": "pro"}', 'billing'));
SELECT facts(patch_row('retry_customers', 1, 6, '{"email": "ann@example.com"}', 'form', merge => false));
SELECT facts(patch_row('retry_customers', 1, 7, '{"email": "ann@example.com"}', 'form', merge => false));

-- A version that the row never had.
SELECT facts(patch_row('retry_customers', 1, 99, '{"plan": "team"}', 'sales'));
SELECT facts(patch_row('retry_customers', 1, 0, '{"plan": "team"}', 'sales'));
-- A row that is not there.
SELECT facts(patch_row('retry_customers', 2, 1, '{"plan": "team"}', 'sales'));
SELECT facts(read_row('retry_customers', 2));

-- One that may not be there.
SELECT facts(patch_row('retry_customers', 2, 0, '{"plan": "free"}', 'form', create_if_absent => true));
SELECT facts(patch_row('retry_customers', 2, 0, '{"plan": "free"}', 'form', create_if_absent => true));
SELECT facts(patch_row('retry_customers', 2, 0, '{"plan": "pro"}', 'billing', create_if_absent => true));
SELECT facts(patch_row('retry_customers', 3, 1, '{"plan": "pro"}', 'billing', create_if_absent => true));
SELECT row_id, version, action, fields, old_values, new_values, writer FROM claims.row_history
 WHERE table_name = 'retry_customers'::regclass ORDER BY changed_at;

DROP TABLE retry_customers;
