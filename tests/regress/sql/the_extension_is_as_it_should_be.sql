--
-- What the catalogs say of the extension.
--
CREATE TEMP VIEW members AS
  SELECT d.classid, d.objid
    FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
   WHERE d.deptype = 'e' AND e.extname = 'pg_claims';
CREATE TEMP VIEW functions AS SELECT p.* FROM pg_proc AS p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid;
CREATE TEMP VIEW relations AS SELECT c.* FROM pg_class AS c JOIN members ON classid = 'pg_class'::regclass AND objid = c.oid;

-- The calls, their arguments and defaults.
SELECT proname, pg_get_function_arguments(oid) AS arguments, pg_get_function_result(oid) AS result
  FROM functions
 WHERE proname IN ('claim_slot', 'confirm_slot', 'release_slot', 'extend_slot', 'cancel_slot', 'resolve_slot',
                   'check_slot', 'holds_slot', 'require_slot', 'release_holder')
 ORDER BY proname;

-- They act with the rights of the extension's owner, so their search_path is
-- pinned. None is strict: NULL in would give NULL out, in silence.
SELECT proname, prosecdef AS definer, proconfig AS config, proisstrict AS strict, proretset AS set
  FROM functions
 WHERE proname ~ '_slot$' OR proname = 'release_holder'
 ORDER BY proname;

SELECT oid::regprocedure AS definer_without_a_pinned_path
  FROM functions
 WHERE prosecdef AND coalesce(proconfig::text, '') !~ 'search_path=pg_catalog, ?pg_temp';
SELECT oid::regprocedure AS strict FROM functions WHERE proisstrict AND pronargs > 0 AND pronamespace <> 'claims'::regnamespace;
SELECT proname AS overloaded FROM functions GROUP BY proname HAVING count(*) > 1;

-- No name of an argument needs quotes.
SELECT oid::regprocedure AS function, name AS reserved
  FROM functions, unnest(proargnames) AS name
 WHERE name <> quote_ident(name);

-- To everybody, nothing.
SELECT oid::regprocedure AS open_to_all FROM functions WHERE has_function_privilege('public', oid, 'EXECUTE');
SELECT oid::regclass AS open_to_all FROM relations
 WHERE relkind IN ('r', 'v', 'm', 'p', 'f') AND has_table_privilege('public', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE');
SELECT has_schema_privilege('public', 'claims', 'USAGE, CREATE') AS open_to_all;

-- Nothing without a comment.
SELECT pg_describe_object('pg_class'::regclass, oid, 0) AS without_comment
  FROM relations WHERE relkind IN ('r', 'v', 'm', 'p') AND coalesce(obj_description(oid, 'pg_class'), '') = ''
UNION ALL
SELECT pg_describe_object('pg_class'::regclass, r.oid, attnum)
  FROM relations AS r JOIN pg_attribute ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
 WHERE relkind IN ('r', 'v', 'm', 'p') AND coalesce(col_description(r.oid, attnum), '') = ''
UNION ALL
SELECT pg_describe_object('pg_proc'::regclass, oid, 0)
  FROM functions WHERE coalesce(obj_description(oid, 'pg_proc'), '') = ''
UNION ALL
SELECT pg_describe_object('pg_namespace'::regclass, objid, 0)
  FROM members WHERE classid = 'pg_namespace'::regclass AND coalesce(obj_description(objid, 'pg_namespace'), '') = ''
UNION ALL
SELECT pg_describe_object('pg_type'::regclass, objid, 0)
  FROM members JOIN pg_type AS t ON classid = 'pg_type'::regclass AND objid = t.oid
 WHERE typrelid = 0 AND typelem = 0 AND coalesce(obj_description(objid, 'pg_type'), '') = ''
ORDER BY 1;

-- pg_dump carries the rows, but for the record of what this server has done.
SELECT r.oid::regclass AS not_dumped
  FROM relations AS r, pg_extension AS e
 WHERE e.extname = 'pg_claims' AND relkind = 'r' AND NOT r.oid = ANY (coalesce(e.extconfig, '{}'))
   AND r.relname <> 'reaper_runs';

-- No triggers: the tables can be sharded.
SELECT tgrelid::regclass, tgname FROM pg_trigger JOIN relations AS r ON r.oid = tgrelid WHERE NOT tgisinternal;

-- An ordinary role may install it, and with CASCADE what it needs.
SELECT superuser, trusted, relocatable, requires
  FROM pg_available_extension_versions WHERE name = 'pg_claims' AND installed;

-- What a row of a slot says.
SELECT attname, format_type(atttypid, atttypmod) AS type, attnotnull AS not_null
  FROM pg_attribute WHERE attrelid = 'claims.slot_claims'::regclass AND attnum > 0 AND NOT attisdropped
 ORDER BY attnum;

DROP VIEW relations, functions, members;
