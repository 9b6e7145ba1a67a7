--
-- Fields that only one writer may change.
--
CREATE TABLE owned_customers (id int PRIMARY KEY, name text, plan text, email text);
INSERT INTO owned_customers VALUES (1, 'Ann', 'free', 'ann@example.com');
SELECT facts(track_rows('owned_customers'));
SELECT facts(own_fields('owned_customers', 'billing', ARRAY['plan']));
SELECT facts(own_fields('owned_customers', 'crm', ARRAY['name', 'email', 'name']));
SELECT table_name, field, writer, enforce FROM claims.field_owners WHERE table_name = 'owned_customers'::regclass ORDER BY field;
-- One owner a field.
SELECT facts(own_fields('owned_customers', 'sales', ARRAY['email', 'plan']));
SELECT facts(own_fields('owned_customers', 'billing', ARRAY['plan']));

-- Case 29: an AI tool sends fields that it has no value for. An explicit null is a change,
-- and only the field's owner makes it.
SELECT facts(own_fields('owned_customers', 'agent', ARRAY['name'])) ->> 'owner' AS owner;
SELECT facts(disown_fields('owned_customers', 'crm', ARRAY['name']));
SELECT facts(patch_row('owned_customers', 1, 1, '{"name": "Ann Lee"}', 'agent'));
SELECT facts(patch_row('owned_customers', 1, 2, '{"email": null, "name": null}', 'agent'));
SELECT * FROM owned_customers;
SELECT facts(patch_row('owned_customers', 1, 2, '{"email": null}', 'crm'));
SELECT * FROM owned_customers;

-- An owned field that is sent as it is, is no change.
SELECT facts(patch_row('owned_customers', 1, 3, '{"plan": "free", "name": "Ann"}', 'agent'));
SELECT facts(patch_row('owned_customers', 1, 4, '{"plan": "free"}', 'agent'));
-- Its owner is asked for a fresh version like anybody.
SELECT facts(patch_row('owned_customers', 1, 4, '{"plan": "pro"}', 'billing')) ->> 'outcome' AS outcome;
SELECT facts(patch_row('owned_customers', 1, 4, '{"plan": "team"}', 'billing')) ->> 'outcome' AS outcome;

-- By force, which is recorded.
SELECT facts(patch_row('owned_customers', 1, 5, '{"plan": "team", "name": "Ann B."}', 'sales', force => true));
SELECT version, fields, writer, forced FROM claims.row_history WHERE table_name = 'owned_customers'::regclass ORDER BY version;
SELECT field, writer FROM claims.field_owners WHERE table_name = 'owned_customers'::regclass ORDER BY field;
SELECT facts(patch_row('owned_customers', 1, 6, '{"plan": "pro"}', 'billing')) ->> 'owner' AS owner;
-- It is no way around a conflict.
SELECT facts(patch_row('owned_customers', 1, 5, '{"plan": "free"}', 'billing', force => true)) ->> 'outcome' AS outcome;
SELECT field, writer FROM claims.field_owners WHERE table_name = 'owned_customers'::regclass ORDER BY field;

-- Plain UPDATEs go by it when all are to.
UPDATE owned_customers SET plan = 'free' RETURNING *;
SELECT facts(own_fields('owned_customers', 'sales', ARRAY['plan'], 'all'));
SELECT * FROM refusal($$UPDATE owned_customers SET plan = 'pro'$$);
UPDATE owned_customers SET plan = 'free', email = 'ann@new.example' RETURNING *;
BEGIN;
SET LOCAL pg_claims.writer = 'sales';
UPDATE owned_customers SET plan = 'pro' RETURNING *;
COMMIT;
SELECT facts(patch_row('owned_customers', 1, 9, '{"plan": "free"}', 'sales')) ->> 'outcome' AS outcome;
SELECT facts(patch_row('owned_customers', 1, 10, '{"plan": "team"}', 'billing')) ->> 'outcome' AS outcome;
SELECT facts(patch_row('owned_customers', 1, 10, '{"plan": "team"}', 'billing', force => true)) ->> 'outcome' AS outcome;
-- A trigger of the table's own, too.
CREATE FUNCTION owned_touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.plan := 'touched'; RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE UPDATE ON owned_customers FOR EACH ROW EXECUTE FUNCTION owned_touch();
SELECT state, message, detail FROM refusal($$SELECT patch_row('owned_customers', 1, 11, '{"name": "Ann"}', 'agent')$$);
DROP TRIGGER touch ON owned_customers;

SELECT facts(disown_fields('owned_customers', 'billing'));
SELECT facts(disown_fields('owned_customers', 'billing'));
SELECT facts(disown_fields('owned_customers', 'crm', ARRAY['plan', 'email']));
SELECT count(*) FROM claims.field_owners WHERE table_name = 'owned_customers'::regclass;
DROP TABLE owned_customers;
DROP FUNCTION owned_touch;
