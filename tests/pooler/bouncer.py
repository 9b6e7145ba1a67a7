"""A pgbouncer of a test's own in front of the scratch server."""

import contextlib
import os
import shutil
import subprocess

import psycopg

from own_server import AS_SERVER, PLACE, free_port, own_folder, until

# Debian puts it where only root looks.
PGBOUNCER = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")


class Bouncer:
    """`server_round_robin`, with every connection of the pool open: two statements of a client, and so two
    calls of a workflow, are never in one session unless they are in one transaction."""

    def __init__(self, name, database, pool_mode, pool_size, **settings):
        self.database, self.pool_size, self.port = database, pool_size, free_port()
        self.home = own_folder(PLACE / "own" / name)
        users = self.home / "users"
        users.write_text('"postgres" ""\n')
        settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "",
            "auth_type": "trust", "auth_file": users, "auth_user": "postgres",
            "pool_mode": pool_mode, "default_pool_size": pool_size, "server_round_robin": 1, "server_idle_timeout": 0,
            # What pg_regress's psql and psycopg ask for at the start of a session.
            "ignore_startup_parameters": "options,extra_float_digits",
            "max_client_conn": 200, "log_connections": 0, "log_disconnections": 0,
        } | settings
        server = f"host=127.0.0.1 port={os.environ['PGPORT']}"
        file = self.home / "pgbouncer.ini"
        file.write_text(f"[databases]\n* = {server}\n[pgbouncer]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        with open(self.home / "pgbouncer.log", "wb") as log:
            self.process = subprocess.Popen([PGBOUNCER, file], cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, **AS_SERVER)
        until("pgbouncer lets in", self.lets_in)

    def lets_in(self):
        assert self.process.poll() is None, (self.home / "pgbouncer.log").read_text()
        with contextlib.suppress(psycopg.OperationalError):
            self.connect().close()
            return True

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def connect(self, **options):
        # psycopg would give a statement a name after five times; pgbouncer hands on no named statements.
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname=self.database, user="postgres",
                               autocommit=True, prepare_threshold=None, **options)

    def open_all(self):
        """As many transactions at once as the pool has connections, so that it opens all of them."""
        sessions = [self.connect() for _ in range(self.pool_size)]
        for session in sessions:
            session.execute("BEGIN")
        pids = {session.execute("SELECT pg_backend_pid()").fetchone()[0] for session in sessions}
        for session in sessions:
            session.execute("COMMIT")
            session.close()
        assert len(pids) == self.pool_size, pids
        return pids

    def in_each(self, statement):
        """What the statement answers in each of the pool's connections, by their process ids."""
        answers = {}
        with self.connect() as session:
            def asked_all():
                pid, answer = session.execute(f"SELECT pg_backend_pid(), ({statement})").fetchone()
                answers[pid] = answer
                return len(answers) == self.pool_size
            until("every connection of the pool was asked", asked_all)
        return answers
