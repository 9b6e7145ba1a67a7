"""A PostgreSQL server of a test's own, to be broken at will and thrown away.

It is made with the programs of the scratch server (target/pg), so the extension as last built is in it.
As root it runs as the user postgres, since PostgreSQL refuses to be root.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import psycopg

HOUSE = Path(__file__).resolve().parents[1]
# <place>/root/…/bin/postgres: the folder above is the server's user's to enter, wherever the clone is.
PLACE = next(folder.parent for folder in Path(shutil.which("postgres")).resolve().parents if folder.name == "root")
AS_SERVER = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    # A socket's path may be too long for a deep clone; TCP has no such limit.
    "unix_socket_directories": "",
    # The processes die here, never the machine: what was written is there without an fsync.
    "fsync": "off",
    "autovacuum": "off",
    "max_connections": 60,
    "log_statement": "none",
    "client_min_messages": "warning",
}


def run(*command, given=None, cwd="/"):
    """Runs one of PostgreSQL's programs as the server's user, and returns what it printed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, input=given, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, **AS_SERVER)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def own_folder(path):
    """An empty folder of the server's user."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    if AS_SERVER:
        shutil.chown(path, "postgres", "postgres")
    return path


def until(what, condition, seconds=60):
    """Asks until the condition holds, and returns what it answered."""
    end = time.monotonic() + seconds
    while True:
        if answer := condition():
            return answer
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.02)


class Server:
    """One cluster. `database` names the one that has the extension, `programs` the folder of its
    PostgreSQL where that is not the scratch server's."""

    database = "claims_of_its_own"

    def __init__(self, name, settings, programs=None):
        self.programs = programs
        self.home = own_folder(PLACE / "own" / name)
        self.data = self.home / "data"
        self.log = self.home / "server.log"
        self.settings = SETTINGS | settings
        self.port = free_port()
        self.postmaster = None

    @classmethod
    def make(cls, name, extension=True, **options):
        """A running server with the extension in its own database."""
        server = cls.prepare(name, **options)
        server.start()
        if extension:
            server.create_database()
        return server

    @classmethod
    def prepare(cls, name, initdb=(), programs=None, **settings):
        """One that has never run."""
        server = cls(name, settings, programs)
        server.run("initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", *initdb)
        return server

    def run(self, program, *arguments, **options):
        return run(self.path(program), *arguments, **options)

    def path(self, program):
        return self.programs / program if self.programs else program

    def create_database(self, options=""):
        with self.connect("postgres") as admin:
            admin.execute(f"CREATE DATABASE {self.database} {options}")
        with self.connect() as session:
            session.execute("CREATE EXTENSION pg_claims CASCADE")

    def start(self):
        """Starts it and waits until it lets somebody in."""
        # A child of this process: nobody else would wait for it, and a zombie still holds its pid file.
        words = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.log, "ab") as log:
            self.postmaster = subprocess.Popen([self.path("postgres"), "-D", self.data, "-p", str(self.port), *words], cwd="/",
                                               stdin=subprocess.DEVNULL, stdout=log, stderr=log, **AS_SERVER)
        until("the server starts", self.lets_in)

    def lets_in(self):
        assert self.postmaster.poll() is None, f"the server did not start:\n{self.last_words()}"
        with contextlib.suppress(psycopg.OperationalError):
            self.connect("postgres").close()
            return True

    def runs(self):
        return self.postmaster is not None and self.postmaster.poll() is None

    def stop(self, how=signal.SIGQUIT):
        """At once, or with SIGINT in good order; whoever is connected is thrown out."""
        if self.runs():
            self.postmaster.send_signal(how)
            self.postmaster.wait(60)

    def throw_away(self):
        """All but its log, for whoever wants to know why a test has failed."""
        self.stop()
        shutil.rmtree(self.data)

    def kill(self):
        """SIGKILL for every process of the server at once, as if the machine had lost its power."""
        postmaster = psutil.Process(self.postmaster.pid)
        postmaster.suspend()  # or it would start new ones meanwhile
        processes = [*postmaster.children(recursive=True), postmaster]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.postmaster.wait(60)
        until("the server's processes are gone", lambda: not any(map(alive, processes)))

    def process(self, title):
        """The server's process whose title has these words, such as `walreceiver`."""
        return until(f"there is a {title}", lambda: next(
            (child for child in psutil.Process(self.postmaster.pid).children() if title in " ".join(child.cmdline())), None))

    def standby(self, name, **settings):
        """A running server that streams from this one."""
        standby = self.copy(name, "-R", **settings)
        standby.start()
        return standby

    def copy(self, name, *options, **settings):
        """A server out of a backup of this one, not yet started."""
        copy = Server(name, settings)
        run("pg_basebackup", "-h", "127.0.0.1", "-p", self.port, "-U", "postgres", "-D", copy.data, "-X", "stream", "-c", "fast",
            "--no-sync", *options)
        return copy

    def promote(self):
        run("pg_ctl", "-D", self.data, "promote", "-w", "-t", "60")

    def connect(self, database=None, user="postgres", **settings):
        """A session in which every statement is a transaction of its own, unless it says BEGIN."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname=database or self.database, user=user,
                               options=options, autocommit=True, connect_timeout=30, prepare_threshold=None)

    def assert_sound(self):
        with self.connect() as session:
            sound = ask(session, "check_claims()")
        assert sound["ok"], sound

    def last_words(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def never_crashed(self):
        """No process of it died by a signal or a PANIC, and it has told nobody of a Rust backtrace."""
        words = self.log.read_text(errors="replace")
        for bad in ("was terminated by signal", "PANIC", "backtrace", "panicked"):
            assert bad not in words, f"{bad}:\n{self.last_words(80)}"


def alive(process):
    """A dead process that nobody has waited for is dead."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ask(session, call, *values):
    """The answer of `function(arguments)`, with %s for each value: exactly one row of one column."""
    rows = session.execute(f"SELECT {call}", values).fetchall()
    assert len(rows) == 1 and len(rows[0]) == 1, f"{call} must answer one row of one column: {rows}"
    return rows[0][0]


def refusal(session, call, *values):
    """What the server says when it refuses the call."""
    try:
        answer = ask(session, call, *values)
    except psycopg.Error as error:
        return error.diag
    raise AssertionError(f"{call} was not refused: {answer}")
