"""What the extension consists of, from the catalog: a new function or table is attacked without being named here."""

from collections import namedtuple

import psycopg

Function = namedtuple("Function", "name result arguments")
Argument = namedtuple("Argument", "name type optional")

MEMBERS = """
    SELECT d.objid FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
     WHERE d.deptype = 'e' AND e.extname = 'pg_claims' AND d.classid = %s::regclass
"""
# A value for each argument that has no default. The names in them are those of calls.SETUP.
USUAL = {
    "slot_id": "'kept'", "holder": "'run'", "token": "1", "key": "'finished'", "series": "'numbers'", "number": "1",
    "starts_at": "'2031-01-02T09:00Z'", "ends_at": "'2031-01-02T10:00Z'", "length": "'1 h'::interval", "capacity": "100",
    "requests": """'[{"slot_id": "many 1"}]'::jsonb""", "claims": """'[{"slot_id": "both 1", "token": 1}]'::jsonb""",
    "verdict": "'booked'", "table_name": "'customers'::regclass", "row_id": "1", "base_version": "1", "changes": """'{"plan": "x"}'::jsonb""",
    "writer": "'billing'", "fields": "ARRAY['plan']", "role": "'postgres'::regrole", "granted": "true",
}


def let_in(admin, role):
    """A role that may use the extension and make things of its own."""
    admin.execute(f"DROP ROLE IF EXISTS {role}")
    admin.execute(f"CREATE ROLE {role} LOGIN")
    admin.execute("SELECT claims.grant_access(%s)", [role])
    admin.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
    admin.execute(f"GRANT CREATE ON DATABASE {admin.info.dbname} TO {role}")


def relations(session):
    rows = session.execute(f"""
        SELECT c.oid::regclass::text, c.relkind FROM pg_class AS c
         WHERE c.oid IN ({MEMBERS}) AND c.relkind IN ('r', 'p', 'v', 'm', 'S') ORDER BY 1""", ["pg_class"]).fetchall()
    assert len(rows) > 10, rows
    return rows


def functions(session):
    """Those that can be called; a trigger's cannot."""
    rows = session.execute(f"""
        SELECT p.oid::regproc::text, p.prorettype::regtype::text, coalesce(p.proargnames, '{{}}'),
               ARRAY(SELECT t::regtype::text FROM unnest(p.proargtypes) AS t), p.pronargdefaults
          FROM pg_proc AS p WHERE p.oid IN ({MEMBERS}) AND p.prorettype <> 'trigger'::regtype ORDER BY 1""", ["pg_proc"]).fetchall()
    assert len(rows) > 30, rows
    return [
        Function(name, result, [Argument(*pair, place >= len(types) - defaults) for place, pair in enumerate(zip(names, types))])
        for name, result, names, types, defaults in rows
    ]


def call(function, **given):
    """The function with its usual arguments, and those that are given as SQL."""
    values = {argument.name: USUAL[argument.name] for argument in function.arguments if not argument.optional} | given
    return f"{function.name}({', '.join(f'{name} => {value}' for name, value in values.items())})"


def state_of(session, statement, *values):
    """The SQLSTATE with which a statement is refused, or None."""
    try:
        session.execute(statement, values or None)
    except psycopg.Error as error:
        return error.sqlstate
