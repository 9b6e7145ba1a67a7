"""The databases on the scratch server: one with pg_claims for the workflows, one for n8n's own tables."""

import os

import psycopg
from psycopg.rows import dict_row

# n8n's role is an ordinary one: the extension is trusted, and the role owns its database.
ROLE = "n8n_stories"
CLAIMS = "n8n_stories"
OWN = "n8n_stories_n8n"


def connect(database):
    """As the superuser of target/pg/env; each statement is its own transaction."""
    return psycopg.connect(dbname=database, autocommit=True, row_factory=dict_row)


def make_databases():
    drop_databases()
    with connect(os.environ["PGDATABASE"]) as server:
        server.execute(f"CREATE ROLE {ROLE} LOGIN")
        server.execute(f"CREATE DATABASE {CLAIMS} OWNER {ROLE}")
        server.execute(f"CREATE DATABASE {OWN} OWNER {ROLE}")
    with psycopg.connect(dbname=CLAIMS, user=ROLE, autocommit=True) as builder:
        builder.execute("CREATE EXTENSION pg_claims CASCADE")


def drop_databases():
    with connect(os.environ["PGDATABASE"]) as server:
        for database in (CLAIMS, OWN):
            server.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        server.execute(f"DROP ROLE IF EXISTS {ROLE}")


class Database:
    def __init__(self, name):
        self.connection = connect(name)

    def rows(self, query, *parameters):
        return self.connection.execute(query, parameters).fetchall()

    def row(self, query, *parameters):
        rows = self.rows(query, *parameters)
        assert len(rows) == 1, rows
        return rows[0]

    def value(self, query, *parameters):
        return next(iter(self.row(query, *parameters).values()))

    def execute(self, statement, *parameters):
        self.connection.execute(statement, parameters)

    def close(self):
        self.connection.close()


class Claims(Database):
    """The database of claims, seen by the test. The workflows reach it through the proxy."""

    def __init__(self):
        super().__init__(CLAIMS)

    def slot(self, slot_id):
        return self.value("SELECT check_slot(%s::text)", slot_id)

    def key(self, key):
        return self.value("SELECT check_key(%s::text)", key)

    def history(self, slot_id):
        return self.rows("SELECT * FROM claims.history WHERE slot_id = %s ORDER BY token", slot_id)

    def end_leases(self, slot_id, key):
        """What five minutes do: the lease of the slot's claim and that of the key are over."""
        self.execute("UPDATE claims.slot_claims SET expires_at = clock_timestamp() WHERE slot_id = %s AND status = 'claimed'",
                     slot_id)
        self.execute("UPDATE claims.keys SET lease_expires_at = clock_timestamp() WHERE key = %s AND status = 'pending'", key)

    def let_a_minute_pass(self, slot_id):
        """What is in review has been so for long enough to be looked at."""
        self.execute("UPDATE claims.slot_claims SET expires_at = expires_at - interval '1 minute'"
                     " WHERE slot_id = %s AND ended_at IS NULL", slot_id)

    def assert_sound(self):
        answer = self.value("SELECT check_claims()")
        assert answer["ok"], answer
