--
-- Two workflows read one customer: billing changes the plan, a form changes the
-- e-mail, and each writes the whole row back.
--
CREATE TABLE lost_customers (id int PRIMARY KEY, name text, plan text, email text);
INSERT INTO lost_customers VALUES (1, 'Ann', 'free', 'ann@old.example');

-- As it is lost: both have read the row as it was, and both report success.
UPDATE lost_customers SET name = 'Ann', plan = 'pro', email = 'ann@old.example' WHERE id = 1 RETURNING *;
UPDATE lost_customers SET name = 'Ann', plan = 'free', email = 'ann@new.example' WHERE id = 1 RETURNING *;

-- As it is kept: the same two writes, with the version that came with the row.
SELECT facts(track_rows('lost_customers'));
UPDATE lost_customers SET plan = 'free', email = 'ann@old.example' WHERE id = 1 RETURNING *;
UPDATE lost_customers SET name = 'Ann', plan = 'pro', email = 'ann@old.example', version = 2 WHERE id = 1 RETURNING *;
SELECT * FROM refusal($$UPDATE lost_customers SET name = 'Ann', plan = 'free', email = 'ann@new.example', version = 2 WHERE id = 1$$);
SELECT * FROM lost_customers;

-- As it is kept by patches: each says what it changes, and both changes are there.
SELECT facts(read_row('lost_customers', 1));
SELECT facts(patch_row('lost_customers', 1, 3, '{"plan": "team"}', 'billing'));
SELECT facts(patch_row('lost_customers', 1, 3, '{"email": "ann@new.example"}', 'form'));
SELECT * FROM lost_customers;

DROP TABLE lost_customers;
