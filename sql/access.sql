-- Who may use the extension. Comes last: it grants what is there by then.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE FUNCTION claims.set_access(role pg_catalog.regrole, granted boolean) RETURNS pg_catalog.jsonb
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    verb pg_catalog.text := CASE WHEN granted THEN 'GRANT' ELSE 'REVOKE' END;
    preposition pg_catalog.text := CASE WHEN granted THEN 'TO' ELSE 'FROM' END;
    what pg_catalog.text;
BEGIN
    IF role IS NULL THEN
        RAISE EXCEPTION 'role must not be NULL'
            USING ERRCODE = 'null_value_not_allowed',
                  DETAIL = 'The argument role is NULL: nothing was done.',
                  HINT = 'Name the role that n8n connects as, such as SELECT claims.grant_access(''n8n'').';
    END IF;
    IF NOT granted AND role = (SELECT extowner FROM pg_catalog.pg_extension WHERE extname = 'pg_claims') THEN
        RAISE EXCEPTION 'role % owns the extension', role
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'Without its access nobody but a superuser could let others in.',
                  HINT = 'Revoke the access of the roles that the owner has let in.';
    END IF;
    FOR what IN
        SELECT CASE
                   WHEN d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                       THEN pg_catalog.format('EXECUTE ON FUNCTION %s', d.objid::pg_catalog.regprocedure)
                   WHEN d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
                       THEN pg_catalog.format('SELECT ON TABLE %s', d.objid::pg_catalog.regclass)
                   ELSE pg_catalog.format('USAGE ON SCHEMA %s', d.objid::pg_catalog.regnamespace)
               END
        FROM pg_catalog.pg_depend AS d
        JOIN pg_catalog.pg_extension AS e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
        LEFT JOIN pg_catalog.pg_proc AS p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
        LEFT JOIN pg_catalog.pg_class AS c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
        WHERE e.extname = 'pg_claims' AND d.deptype = 'e'
          AND (d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
               OR c.relkind IN ('r', 'v')
               -- Letting others in stays with whoever was let in by CREATE EXTENSION.
               OR p.oid IS NOT NULL AND p.proname NOT IN ('set_access', 'grant_access', 'revoke_access'))
    LOOP
        EXECUTE pg_catalog.format('%s %s %s %s', verb, what, preposition, role);
    END LOOP;
    RETURN pg_catalog.jsonb_build_object(
        'ok', true,
        'outcome', CASE WHEN granted THEN 'granted' ELSE 'revoked' END,
        'message', CASE WHEN granted THEN 'The role may call the functions and read the tables of pg_claims.'
                        ELSE 'The role may no longer use pg_claims.' END,
        'role', role::pg_catalog.text);
END
$function$;

CREATE FUNCTION claims.grant_access(role pg_catalog.regrole) RETURNS pg_catalog.jsonb
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$ SELECT claims.set_access(role, true) $function$;

CREATE FUNCTION claims.revoke_access(role pg_catalog.regrole) RETURNS pg_catalog.jsonb
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$ SELECT claims.set_access(role, false) $function$;

COMMENT ON FUNCTION claims.set_access IS 'what grant_access and revoke_access have in common';
COMMENT ON FUNCTION claims.grant_access IS
'Lets a role call the functions of pg_claims and read its tables and views.

Arguments:
  role   the role that n8n connects as

Outcomes: granted (ok).

Raises 22004 for NULL, 42704 for a role that does not exist.';
COMMENT ON FUNCTION claims.revoke_access IS
'Takes back what grant_access gave.

Arguments:
  role   the role

Outcomes: revoked (ok).

Raises 22004 for NULL, 42704 for a role that does not exist, 55000 for the role that
owns the extension.';

DO $$
DECLARE
    function pg_catalog.regprocedure;
BEGIN
    FOR function IN
        SELECT d.objid::pg_catalog.regprocedure
        FROM pg_catalog.pg_depend AS d
        JOIN pg_catalog.pg_extension AS e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
        WHERE e.extname = 'pg_claims' AND d.deptype = 'e' AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
    LOOP
        EXECUTE pg_catalog.format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', function);
    END LOOP;
END
$$;

SELECT claims.grant_access('@extowner@');
GRANT EXECUTE ON FUNCTION claims.grant_access, claims.revoke_access TO @extowner@;

SET LOCAL search_path TO @extschema@, pg_temp;
