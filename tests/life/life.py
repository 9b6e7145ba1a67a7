"""What a database has lived through, and what it must still know wherever its life goes on: after a
restore, an upgrade of the server, or in a subscriber that took over."""

import psycopg

from own_server import ask

TABLES = ("slot_claims", "pools", "keys", "series", "numbers",
          "tracked_tables", "row_fields", "row_history", "field_owners")

PAST = """
    CREATE TABLE accounts (id int PRIMARY KEY, plan text, email text);
    INSERT INTO accounts VALUES (1, 'free', 'old');
    SELECT claims.grant_access('life_friend');

    SELECT claim_slot('booked', 'first', note => '{"guest": "O''Neil"}'), confirm_slot('booked', 'first', 1);
    SELECT claim_slot('released', 'first'), release_slot('released', 'first', 1);
    SELECT claim_slot('released', 'second'), release_slot('released', 'second', 2);
    SELECT claim_slot('held', 'first', ttl => '1 day');
    SELECT claim_slot('in doubt', 'first'), release_slot('in doubt', 'first', 1, in_doubt => true);
    SELECT claim_period('chair', 'first', '2031-01-02T09:00Z', '2031-01-02T10:00Z'), confirm_slot('chair', 'first', 1);
    SELECT set_capacity('lamp', 3), claim_units('lamp', 'first', 2), confirm_slot('lamp', 'first', 1);

    SELECT begin_key('done', 'first', request => '{"order": 7}'), finish_key('done', 'first', 1, result => '{"charge": 5}');
    SELECT begin_key('open', 'first', lease => '1 day');

    SELECT create_series('invoices', label => 'INV-{n:05}');
    SELECT next_number('invoices', 'first', key => 'order-1'), next_number('invoices', 'first', key => 'order-2');
    SELECT void_number('invoices', 2, reason => 'withdrawn');

    SELECT track_rows('accounts', keep_values => true);
    SELECT patch_row('accounts', 1, 1, '{"plan": "pro"}', 'billing');
    SELECT own_fields('accounts', 'billing', ARRAY['plan'], 'all');
"""


def live(server):
    """Gives the server's own database its past."""
    with server.connect() as session:
        session.execute("CREATE ROLE life_friend LOGIN")
        for statement in filter(str.strip, PAST.split(";\n")):
            done = session.execute(statement)
            for answer in done.fetchone() if done.description else ():
                assert answer["ok"], (statement, answer)


def memory(server):
    """All rows of all tables, as text."""
    with server.connect() as session:
        return {table: [row[0] for row in session.execute(f"SELECT t::text FROM claims.{table} AS t ORDER BY 1")]
                for table in TABLES}


def goes_on(server):
    """Everything that was known still counts, and counting goes on where it was."""
    with server.connect() as session:
        def outcome(call):
            return ask(session, call)["outcome"]

        assert ask(session, "claim_slot('released', 'third')")["token"] == 3
        assert ask(session, "claim_slot('booked', 'third')")["status"] == "booked"
        assert ask(session, "claim_slot('in doubt', 'third')")["status"] == "review"
        assert outcome("confirm_slot('held', 'first', 1)") == "confirmed"
        assert outcome("claim_period('chair', 'third', '2031-01-02T09:30Z', '2031-01-02T10:30Z')") == "taken"
        assert ask(session, "claim_period('chair', 'third', '2031-01-02T10:00Z', '2031-01-02T11:00Z')")["token"] == 2
        assert ask(session, "claim_units('lamp', 'third', 2)")["available"] == 1
        assert outcome("claim_units('lamp', 'third', 1)") == "claimed"

        replay = ask(session, "begin_key('done', 'third', request => '{\"order\": 7}')")
        assert (replay["outcome"], replay["result"]) == ("replay", {"charge": 5})
        assert outcome("begin_key('done', 'third', request => '{\"order\": 8}')") == "mismatch"
        assert outcome("finish_key('open', 'first', 1)") == "done"

        assert ask(session, "next_number('invoices', 'third', key => 'order-1')")["number"] == 1
        assert ask(session, "next_number('invoices', 'third')")["label"] == "INV-00003"

        assert outcome("patch_row('accounts', 1, 1, '{\"plan\": \"team\"}', 'billing')") == "conflict"
        assert ask(session, "patch_row('accounts', 1, 1, '{\"email\": \"new\"}', 'form')")["version"] == 3
        assert refused(session, "UPDATE accounts SET email = 'x', version = 2") == "27000"
        assert refused(session, "UPDATE accounts SET plan = 'x'") == "42501"
        assert outcome("check_claims()") == "sound"
    with server.connect(user="life_friend") as session:
        assert ask(session, "claim_slot('booked', 'a friend')")["outcome"] == "taken"


def refused(session, statement):
    try:
        session.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    raise AssertionError(f"{statement} was not refused")
