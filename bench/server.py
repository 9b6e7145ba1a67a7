"""The PostgreSQL that is measured: the scratch server's own installation, with data of its own that
is made anew for each run. It listens on a unix socket only."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

# As durable as a default installation: fsync and full_page_writes stay on. No checkpoint falls into a
# measurement by itself, and autovacuum runs only where a workload says so.
SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "2GB",
    "max_wal_size": "16GB",
    "min_wal_size": "2GB",
    "checkpoint_timeout": "1d",
    "max_connections": "100",
    "autovacuum": "off",
    "TimeZone": "UTC",
}


def as_server(*command):
    """PostgreSQL refuses to run as root."""
    words = [str(word) for word in command]
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


class Postgres:
    """A server that lives as long as the `with` block."""

    def __init__(self, root, place):
        self.bin = next(Path(root).glob("**/bin/postgres")).parent
        self.place = Path(place)
        self.data = self.place / "data"

    def __enter__(self):
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        # The path of a unix socket has at most 107 bytes, and a clone may be deeper than that.
        self.sockets = tempfile.mkdtemp(prefix="pg_claims_bench.")
        if os.geteuid() == 0:
            shutil.chown(self.place, "postgres")
            shutil.chown(self.sockets, "postgres")
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        settings = SETTINGS | {"listen_addresses": "", "unix_socket_directories": self.sockets}
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        subprocess.run(as_server("tee", "-a", self.data / "postgresql.conf"), check=True, input=lines, text=True,
                       stdout=subprocess.DEVNULL)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self.sockets, ignore_errors=True)

    def start(self):
        self._run("pg_ctl", "-l", self.place / "server.log", "-w", "-t", "120", "start")

    def stop(self):
        self._run("pg_ctl", "-m", "fast", "-w", "-t", "300", "stop")

    def _run(self, program, *arguments):
        subprocess.run(as_server(self.bin / program, "-D", self.data, *arguments), check=True, cwd="/",
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def environment(self, **options):
        """What pgbench needs to find the server, with settings for its sessions."""
        flags = " ".join(f"-c {name}={value}" for name, value in options.items())
        return {**os.environ, "PGHOST": self.sockets, "PGPORT": "5432", "PGUSER": "postgres", "PGOPTIONS": flags}

    def connect(self, database="postgres"):
        return psycopg.connect(host=self.sockets, port=5432, user="postgres", dbname=database, autocommit=True)

    def create_database(self, name, *scripts):
        """A database with the extension in it, and what the scripts make."""
        with self.connect() as admin:
            admin.execute(f'CREATE DATABASE "{name}"')
        with self.connect(name) as db:
            db.execute("SET client_min_messages = warning; CREATE EXTENSION pg_claims CASCADE")
            for script in scripts:
                db.execute(Path(script).read_text(encoding="utf-8"))

    def drop_database(self, name):
        with self.connect() as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def settings(self, *more):
        """What the server itself says of its settings, as they go with the results."""
        with self.connect() as db:
            return {name: db.execute("SELECT current_setting(%s)", [name]).fetchone()[0]
                    for name in ("server_version", *SETTINGS, "synchronous_commit", "wal_sync_method", *more)}
