-- The whole catalog of the extension, one line a property, in an order of its own: what two
-- databases must have in common when one was upgraded and the other made anew. Each catalog
-- row goes in whole, but for its object ids, its statistics, a mark that PostgreSQL gives a
-- column at each change, and its parse trees, which come as the definitions that PostgreSQL
-- writes of them.
\pset tuples_only on
\pset format unaligned
SET search_path TO pg_catalog;

CREATE TEMPORARY VIEW member AS
SELECT d.classid, d.objid, o.type, o.identity
FROM pg_depend AS d
JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid,
     pg_identify_object(d.classid, d.objid, 0) AS o
WHERE e.extname = 'pg_claims' AND d.deptype = 'e';

-- The tables and views, and the indexes of the tables.
CREATE TEMPORARY VIEW relation AS
SELECT c.*, m.identity FROM member AS m JOIN pg_class AS c ON m.classid = 'pg_class'::regclass AND m.objid = c.oid
UNION ALL
SELECT c.*, i.indexrelid::regclass::text
FROM member AS m JOIN pg_index AS i ON m.classid = 'pg_class'::regclass AND m.objid = i.indrelid
JOIN pg_class AS c ON i.indexrelid = c.oid;

CREATE FUNCTION pg_temp.sorted(acl aclitem[]) RETURNS text LANGUAGE sql AS
$$ SELECT coalesce((SELECT array_agg(item::text ORDER BY item::text) FROM unnest(acl) AS item)::text, 'none of its own') $$;

WITH property AS (
    SELECT 'extension' AS subject, 'itself' AS property,
           (to_jsonb(e) - '{oid,extowner,extnamespace,extconfig,extcondition}'::text[])::text || ' ' || extowner::regrole
           || ' ' || extnamespace::regnamespace AS value
    FROM pg_extension AS e WHERE extname = 'pg_claims'
    UNION ALL
    SELECT 'extension', 'dumps ' || config.table_name::regclass, config.condition
    FROM pg_extension, unnest(extconfig, extcondition) AS config (table_name, condition) WHERE extname = 'pg_claims'
    UNION ALL
    SELECT m.type || ' ' || m.identity, 'is a member', '' FROM member AS m
    UNION ALL
    SELECT 'relation ' || identity, 'itself',
           (to_jsonb(relation) - '{oid,relnamespace,reltype,relowner,relfilenode,relpages,reltuples,relallvisible,relallfrozen,reltoastrelid,relfrozenxid,relminmxid,relacl}'::text[])::text
           || ' ' || relowner::regrole || CASE WHEN reltoastrelid <> 0 THEN ' toasted' ELSE '' END
    FROM relation
    UNION ALL
    SELECT 'relation ' || identity, 'acl', pg_temp.sorted(relacl) FROM relation
    UNION ALL
    SELECT 'relation ' || identity, 'view', pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
    UNION ALL
    SELECT 'relation ' || r.identity, 'index',
           pg_get_indexdef(i.indexrelid) || ' ' || (to_jsonb(i) - '{indexrelid,indrelid,indclass,indexprs,indpred}'::text[])::text
    FROM relation AS r JOIN pg_index AS i ON r.oid = i.indexrelid
    UNION ALL
    SELECT 'relation ' || r.identity, 'column ' || attnum,
           (to_jsonb(a) - '{attrelid,atttypid,attacl,attoptions}'::text[])::text || ' ' || format_type(atttypid, atttypmod)
           || ' ' || pg_temp.sorted(attacl)
           || ' ' || ARRAY(SELECT option FROM unnest(attoptions) AS option WHERE option NOT LIKE 'pg_attver=%')::text
           || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
    FROM relation AS r JOIN pg_attribute AS a ON r.oid = a.attrelid AND a.attnum > 0
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL
    SELECT 'relation ' || r.identity, 'constraint ' || conname,
           pg_get_constraintdef(c.oid) || ' ' || (to_jsonb(c) - '{oid,connamespace,conrelid,conindid,conbin,conexclop,conparentid}'::text[])::text
    FROM relation AS r JOIN pg_constraint AS c ON r.oid = c.conrelid
    UNION ALL
    SELECT 'relation ' || r.identity, 'trigger ' || tgname, pg_get_triggerdef(t.oid)
    FROM relation AS r JOIN pg_trigger AS t ON r.oid = t.tgrelid
    UNION ALL
    SELECT 'relation ' || r.identity, 'policy ' || polname, pg_get_expr(polqual, polrelid)
    FROM relation AS r JOIN pg_policy AS p ON r.oid = p.polrelid
    UNION ALL
    SELECT 'function ' || m.identity, 'itself',
           pg_get_functiondef(p.oid) || ' ' || (to_jsonb(p) - '{oid,pronamespace,proowner,proargdefaults,prosqlbody,proacl}'::text[])::text
           || ' ' || proowner::regrole
    FROM member AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
    UNION ALL
    SELECT 'function ' || m.identity, 'acl', pg_temp.sorted(proacl)
    FROM member AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
    UNION ALL
    SELECT 'schema ' || nspname, 'itself', nspowner::regrole || ' ' || pg_temp.sorted(nspacl)
    FROM member AS m JOIN pg_namespace AS n ON m.classid = 'pg_namespace'::regclass AND m.objid = n.oid
    UNION ALL
    -- What pg_dump takes for granted, because CREATE EXTENSION gives it.
    SELECT m.type || ' ' || m.identity, 'initial acl', pg_temp.sorted(initprivs) || ' ' || privtype::text
    FROM member AS m JOIN pg_init_privs AS i ON m.classid = i.classoid AND m.objid = i.objoid
    UNION ALL
    -- What keeps a role from being dropped.
    SELECT m.type || ' ' || m.identity, 'role ' || s.deptype::text, s.refobjid::regrole::text
    FROM member AS m JOIN pg_shdepend AS s ON m.classid = s.classid AND m.objid = s.objid
    WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL
    SELECT commented.subject, 'comment ' || objsubid, description
    FROM (SELECT classid, objid, type || ' ' || identity FROM member
          UNION SELECT 'pg_class'::regclass, oid, 'relation ' || identity FROM relation
          UNION SELECT 'pg_constraint'::regclass, c.oid, 'constraint ' || conname FROM relation AS r JOIN pg_constraint AS c ON r.oid = c.conrelid
          UNION SELECT 'pg_extension'::regclass, oid, 'extension' FROM pg_extension WHERE extname = 'pg_claims') AS commented (classoid, objoid, subject)
    JOIN pg_description AS description USING (classoid, objoid)
)
SELECT subject || ': ' || property || ': ' || coalesce(value, 'NULL') FROM property ORDER BY subject COLLATE "C", property COLLATE "C", value COLLATE "C";
