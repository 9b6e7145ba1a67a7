--
-- Plain UPDATEs of a tracked table: one that carries an older version is
-- refused, naming what it would have undone. One that names no version passes.
-- The first shapes are those of n8n's Postgres node.
--
CREATE TABLE whole_customers (id int PRIMARY KEY, name text, plan text, email text);
INSERT INTO whole_customers VALUES (1, 'Ann', 'free', 'ann@example.com');
SELECT facts(track_rows('whole_customers'));
SELECT patch_row('whole_customers', 1, 1, '{"plan": "pro"}', 'billing') ->> 'outcome' AS outcome;
SELECT patch_row('whole_customers', 1, 2, '{"email": "ann@new.example"}', 'form') ->> 'outcome' AS outcome;

-- Update, with all columns of the item that was read at version 1.
SELECT * FROM refusal($$UPDATE "public"."whole_customers" SET "name" = 'Ann B.', "plan" = 'free', "email" = 'ann@example.com', "version" = 1 WHERE "id" = 1 RETURNING *$$);
SELECT * FROM refusal($$UPDATE "public"."whole_customers" SET "name" = 'Ann B.', "plan" = 'pro', "email" = 'ann@example.com', "version" = '2' WHERE "id" = '1' RETURNING *$$);
-- Read at the current version.
UPDATE "public"."whole_customers" SET "name" = 'Ann B.', "plan" = 'pro', "email" = 'ann@new.example', "version" = 3 WHERE "id" = 1 RETURNING *;
-- Insert or Update, in both of its forms.
SELECT message, detail FROM refusal($$INSERT INTO "public"."whole_customers"("id", "name", "plan", "version") VALUES(1, 'Ann', 'free', 1) ON CONFLICT ("id") DO UPDATE SET "name" = 'Ann', "plan" = 'free', "version" = 1 RETURNING *$$);
SELECT message, detail FROM refusal($$INSERT INTO "public"."whole_customers"("id", "name", "plan", "version") VALUES(1, 'Ann', 'free', 3) ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name", "plan" = EXCLUDED."plan", "version" = EXCLUDED."version" RETURNING *$$);
SELECT message, detail FROM refusal($$INSERT INTO "public"."whole_customers"("id", "name", "version") VALUES(1, 'Ann', NULL) ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name", "version" = EXCLUDED."version" RETURNING *$$);
INSERT INTO "public"."whole_customers"("id", "name", "version") VALUES(1, 'Ann C.', 4) ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name", "version" = EXCLUDED."version" RETURNING *;
INSERT INTO "public"."whole_customers"("id", "name", "plan") VALUES(1, 'Ann', 'team'), (2, 'Bob', 'free') ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name", "plan" = EXCLUDED."plan" RETURNING *;

-- What others do.
UPDATE whole_customers SET plan = 'free' WHERE id = 1 RETURNING *;
UPDATE whole_customers SET plan = 'pro', version = version + 1 WHERE id = 1 AND version = 7 RETURNING *;
UPDATE whole_customers SET plan = 'pro', version = 8 WHERE id = 1 RETURNING *;
-- Nothing would change, so there is nothing to refuse, and no new version.
UPDATE whole_customers SET name = 'Ann', plan = 'pro', version = 3 WHERE id = 1 RETURNING *;
UPDATE whole_customers SET version = 20 WHERE id = 1 RETURNING *;
SELECT * FROM refusal($$UPDATE whole_customers SET plan = 'free', version = 20 WHERE id = 1$$);
SELECT * FROM refusal($$UPDATE whole_customers SET plan = 'free', version = NULL WHERE id = 1$$);
SELECT * FROM refusal($$UPDATE whole_customers SET plan = 'gold', version = -1 WHERE id = 2$$);

-- One stale row refuses the statement.
SELECT message FROM refusal($$UPDATE whole_customers SET plan = 'team', version = 1$$);
-- Any transaction may write, at any isolation level.
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE whole_customers SET plan = 'team' RETURNING *;
COMMIT;

-- All of it is recorded: by role, or by the name that the session gives itself.
BEGIN;
SET LOCAL pg_claims.writer = 'workflow 17';
UPDATE whole_customers SET email = 'bob@example.com' WHERE id = 2;
COMMIT;
SELECT row_id, version, action, fields, writer, old_values, new_values FROM claims.row_history
 WHERE table_name = 'whole_customers'::regclass ORDER BY changed_at, row_id;
SELECT row_id, field, version, writer FROM claims.row_fields WHERE table_name = 'whole_customers'::regclass ORDER BY 1, 2;
SET pg_claims.writer = 'undefined';
SELECT * FROM refusal($$UPDATE whole_customers SET plan = 'free' WHERE id = 2$$);
RESET pg_claims.writer;

-- A trigger of the table's own has its say before, whatever it is called.
CREATE FUNCTION whole_upper() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := upper(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER zz_upper BEFORE INSERT OR UPDATE ON whole_customers FOR EACH ROW EXECUTE FUNCTION whole_upper();
SELECT facts(patch_row('whole_customers', 2, 3, '{"email": "bob@new.example"}', 'form')) -> 'row' AS row;
SELECT field, version, writer FROM claims.row_fields WHERE table_name = 'whole_customers'::regclass AND row_id = '2' ORDER BY 1;
-- One that keeps a row from being written.
CREATE FUNCTION whole_none() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER none BEFORE UPDATE ON whole_customers FOR EACH ROW EXECUTE FUNCTION whole_none();
SELECT * FROM refusal($$SELECT patch_row('whole_customers', 2, 4, '{"email": "bob@example.com"}', 'form')$$);

DROP TABLE whole_customers;
DROP FUNCTION whole_upper, whole_none;
