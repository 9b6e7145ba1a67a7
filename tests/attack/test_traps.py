"""What a caller puts into the way of the functions is never run with more rights than his own.

Every trap says who it was sprung by: the caller is no harm, the owner of the extension is the end of all.
"""

import pytest

from calls import CALLS, LOOKING, SETUP
from catalog import let_in
from own_server import ask

# Something of the same name and arguments as all that PostgreSQL has, before it in the search_path.
SHADOWS = """
    CREATE FUNCTION pg_temp.shadow_all() RETURNS int LANGUAGE plpgsql AS $function$
    DECLARE
        statement text;
        made int := 0;
    BEGIN
        FOR statement IN
            SELECT format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS $trap$BEGIN RAISE EXCEPTION ''trapped: %%'', current_user; END$trap$',
                          proname, pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid))
              FROM pg_proc AS p
             WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND provariadic = 0
        UNION ALL
            SELECT format('CREATE FUNCTION public.trap_%s(%s) RETURNS %s LANGUAGE plpgsql AS $trap$BEGIN RAISE EXCEPTION ''trapped: %%'', current_user; END$trap$;
                           CREATE OPERATOR public.%s (%s RIGHTARG = %s, FUNCTION = public.trap_%1$s)',
                          o.oid, concat_ws(', ', nullif(oprleft::regtype::text, '-'), oprright::regtype), oprresult::regtype, oprname,
                          CASE WHEN oprleft <> 0 THEN 'LEFTARG = ' || oprleft::regtype || ',' END, oprright::regtype)
              FROM pg_operator AS o
             WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprcode <> 0 AND oprright <> 0
        LOOP
            BEGIN
                EXECUTE statement;
                made := made + 1;
            EXCEPTION WHEN OTHERS THEN
                NULL;  -- a type that only C functions may take
            END;
        END LOOP;
        RETURN made;
    END
    $function$
"""
SPY = """
    CREATE FUNCTION spy(what text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
        AS $$ BEGIN RAISE NOTICE 'spy: % as %', what, current_user; RETURN true; END $$;
    CREATE FUNCTION spy_trigger() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM public.spy('a trigger'); RETURN NEW; END $$;
"""


@pytest.fixture
def server(servers):
    server = servers("attack", client_min_messages="notice")
    with server.connect() as admin:
        let_in(admin, "mallory")
    yield server
    server.assert_sound()
    server.never_crashed()


@pytest.fixture
def mallory(server):
    with server.connect(user="mallory") as session:
        session.heard = []
        session.add_notice_handler(lambda notice: session.heard.append(notice.message_primary))
        yield session


def spied(session):
    """Who the traps were sprung by, of late."""
    heard = [message.removeprefix("spy: ") for message in session.heard if message.startswith("spy: ")]
    session.heard.clear()
    return sorted(set(heard))


def test_no_call_reaches_what_stands_before_the_catalog_in_the_search_path(server, mallory):
    mallory.execute(SETUP)
    with server.connect(user="mallory") as other:
        other.execute(SHADOWS)
        assert other.execute("SELECT pg_temp.shadow_all()").fetchone()[0] > 1500
    for table in mallory.execute("SELECT DISTINCT relname FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace IN ('pg_catalog'::regnamespace, 'claims'::regnamespace)").fetchall():
        mallory.execute(f'CREATE TEMP TABLE "{table[0]}" (trap int)')
    mallory.execute("SET search_path = pg_temp, public, pg_catalog")
    # The traps are there: the caller's own statements run into them.
    with pytest.raises(Exception, match="trapped: mallory"):
        mallory.execute("SELECT 'a'::text || 'b'::text")
    for name, call in CALLS.items():
        answer = ask(mallory, call)
        assert answer is True or answer["ok"] or name in LOOKING, f"{name}: {answer}"


def test_what_a_tracked_table_brings_along_runs_as_its_writer(server, mallory):
    """A trigger, an index, a check, a default, a generated column, a cast to json, a row security policy."""
    mallory.execute(SPY)
    mallory.execute("""
        CREATE DOMAIN watched AS text CHECK (public.spy('a domain'));
        CREATE TYPE mood AS ENUM ('well', 'ill');
        CREATE FUNCTION mood_as_json(mood) RETURNS json LANGUAGE plpgsql
            AS $$ BEGIN PERFORM public.spy('a cast'); RETURN to_json($1::text); END $$;
        CREATE CAST (mood AS json) WITH FUNCTION mood_as_json(mood);
        CREATE FUNCTION said(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM public.spy('a default'); RETURN $1; END $$;
        CREATE TABLE bait (id watched PRIMARY KEY, feels mood, name text CHECK (public.spy('a check')), other text DEFAULT said('x'),
                           made text GENERATED ALWAYS AS (said(name)) STORED);
        CREATE INDEX ON bait (said(name)) WHERE public.spy('a condition');
        CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON bait FOR EACH ROW EXECUTE FUNCTION spy_trigger();
        CREATE POLICY watched ON bait USING (public.spy('a policy'));
        ALTER TABLE bait ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    """)
    mallory.heard.clear()
    ask(mallory, "track_rows('bait', keep_values => true)")
    ask(mallory, "own_fields('bait', 'billing', ARRAY['other'], 'all')")
    mallory.execute("INSERT INTO bait (id, feels, name) VALUES ('1', 'well', 'Ann')")
    assert ask(mallory, """patch_row('bait', '1', 1, '{"name": "Bea"}', 'support')""")["ok"]
    assert ask(mallory, """patch_row('bait', '2', 0, '{"name": "Cyd"}', 'support', create_if_absent => true)""")["ok"]
    assert not ask(mallory, """patch_row('bait', '1', 1, '{"name": "Cyd"}', 'support')""")["ok"]
    ask(mallory, "read_row('bait', '1')")
    mallory.execute("UPDATE bait SET name = 'Dee'")
    mallory.execute("DELETE FROM bait")
    ask(mallory, "check_claims()")
    ask(mallory, "untrack_rows('bait')")
    by = spied(mallory)
    assert {"a trigger as mallory", "a cast as mallory", "a check as mallory", "a policy as mallory", "a condition as mallory"} <= set(by), by
    assert all(who.endswith(" as mallory") for who in by), by


def test_a_type_of_the_callers_own_is_read_with_the_callers_rights(server, mallory):
    mallory.execute(SPY)
    mallory.execute("""
        CREATE DOMAIN watched AS text CHECK (public.spy('a domain'));
        CREATE TYPE mood AS ENUM ('well', 'ill');
        CREATE FUNCTION mood_as_text(mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM public.spy('a cast'); RETURN 'well'; END $$;
        CREATE CAST (mood AS text) WITH FUNCTION mood_as_text(mood) AS IMPLICIT;
    """)
    mallory.heard.clear()
    assert ask(mallory, "claim_slot('a slot'::watched, 'run')")["ok"]
    assert ask(mallory, "claim_slot('well'::mood, 'run')")["slot_id"] == "well"
    assert ask(mallory, "begin_key('well'::mood, 'ill'::mood)")["ok"]
    by = spied(mallory)
    assert {"a domain as mallory", "a cast as mallory"} <= set(by), by
    assert all(who.endswith(" as mallory") for who in by), by
