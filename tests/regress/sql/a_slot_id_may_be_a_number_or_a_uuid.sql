--
-- The first identifier of a call may be a number or a uuid as well as a text:
-- n8n writes numbers into the query as they are. It means the same slot as its
-- text does.
--
SELECT facts(claim_slot('71001', 'h1', '1 hour'));
SELECT facts(claim_slot(71001, 'h2'));
SELECT facts(claim_slot(71001::bigint, 'h2'));
SELECT facts(claim_slot(71001::numeric, 'h2'));
SELECT facts(claim_slot('71001'::text, 'h2'));
SELECT facts(claim_slot('71001'::varchar, 'h2'));
SELECT facts(claim_slot('71001'::varchar(10), 'h2'));
SELECT facts(claim_slot('71001'::name, 'h2'));

SELECT facts(claim_slot(9007199254740993, 'h1'));
SELECT facts(claim_slot(-7::smallint, 'h1'));
SELECT facts(claim_slot(1500.50, 'h1'));
SELECT facts(claim_slot('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid, 'h1'));

CREATE DOMAIN slot_name AS text CHECK (value LIKE 'slot %');
CREATE DOMAIN short_slot_name AS slot_name CHECK (length(value) < 20);
CREATE DOMAIN slot_number AS int;
SELECT facts(claim_slot('slot of a domain'::slot_name, 'h1'));
SELECT facts(claim_slot('slot of a domain'::short_slot_name, 'h2'));
SELECT facts(claim_slot(71001::slot_number, 'h2'));

-- The other functions, on the same slot.
SELECT facts(check_slot(71001));
SELECT facts(extend_slot(71001::bigint, 'h1', 1, '2 hours'));
SELECT holds_slot(71001::numeric, 'h1', 1), require_slot('71001'::name, 'h1', 1);
SELECT facts(release_slot(71001, 'h1', 1, in_doubt => true));
SELECT facts(resolve_slot(71001::numeric, 'h1', 1, 'released'));
SELECT facts(confirm_slot('71001'::varchar, 'h1', 1));
SELECT facts(cancel_slot(71001::slot_number, 'h1', 2));

DROP DOMAIN slot_number;
DROP DOMAIN short_slot_name;
DROP DOMAIN slot_name;
