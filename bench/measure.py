"""One measurement: pgbench for a while, and what its log says of that."""

import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy

# pgbench shares the machine with the server.
THREADS = 2


@dataclass(frozen=True)
class Load:
    """How a subject is driven."""

    clients: int
    protocol: str = "prepared"
    synchronous_commit: str = "on"
    # So many transactions instead of so many seconds, for calls that use something up.
    transactions: int | None = None

    def __str__(self):
        clients = f"{self.clients} client{'s' if self.clients != 1 else ''}"
        return f"{clients}, {self.protocol}, synchronous_commit {self.synchronous_commit}"


@dataclass(frozen=True)
class Time:
    """How long one measurement takes, and how much of its beginning is left out: each client's first
    calls make its plans and fill its caches."""

    seconds: int
    warm_up: float


@dataclass
class Result:
    """Of one subject in one round. The times are of one transaction of the script."""

    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    wal_bytes: float | None


@dataclass(frozen=True)
class Script:
    """What pgbench runs. {slot}, {holder}, {key}, {room} and {second} are variables that are passed as
    texts: as parameters of a prepared statement, or with the simple protocol as quoted literals, which
    is what n8n sends."""

    name: str
    script: str
    database: str = "bench"
    # SQL before each measurement, outside of the time.
    before: str | None = None
    # A query that counts what has been done, where an answer may say that nothing was.
    counted: str | None = None

    def text(self, protocol):
        quote = "':{}'" if protocol == "simple" else ":{}"
        names = ("slot", "holder", "key", "room", "second")
        return self.script.format(**{name: quote.format(name) for name in names}).strip() + "\n"

    def measure(self, server, load, time):
        with server.connect(self.database) as db:
            if self.before:
                db.execute(self.before)
            wal, done = position(db), self.count(db)
            ends, took = self.pgbench(server, load, time)
            wal_bytes = (position(db) - wal) / len(ends)
            share = (self.count(db) - done) / len(ends) if self.counted else 1
        # With a number of transactions, their first seventh is the warm-up.
        begin = (ends - took).min() + time.warm_up if load.transactions is None else numpy.quantile(ends, 1 / 7)
        return result(ends, took, begin, share, wal_bytes)

    def pgbench(self, server, load, time=None):
        """When each transaction ended, and how long it took, in seconds."""
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "script.sql").write_text(self.text(load.protocol), encoding="utf-8")
            length = ["--transactions", load.transactions] if load.transactions else ["--time", time.seconds]
            command = [server.bin / "pgbench", "--no-vacuum", "--client", load.clients, "--jobs", min(THREADS, load.clients),
                       *length, "--protocol", load.protocol, "--log", "--log-prefix", folder / "log",
                       "--define", "i=0", "--file", folder / "script.sql", self.database]
            ran = subprocess.run(
                [str(word) for word in command], capture_output=True, text=True, cwd="/", stdin=subprocess.DEVNULL,
                env=server.environment(synchronous_commit=load.synchronous_commit))
            if ran.returncode != 0 or "ERROR" in ran.stderr:
                raise RuntimeError(f"pgbench failed on {self.name}:\n{ran.stderr}")
            rows = numpy.concatenate([numpy.loadtxt(log, ndmin=2) for log in folder.glob("log.*")])
        return rows[:, 4] + rows[:, 5] / 1e6, rows[:, 2] / 1e6

    def count(self, db):
        return int(db.execute(self.counted).fetchone()[0]) if self.counted else 0


def result(ends, took, begin, share, wal_bytes):
    """Of what ended after the warm-up, of which a share has done what was to be done."""
    kept = ends > begin
    if not kept.any():
        raise RuntimeError("nothing was done after the warm-up")
    rate = kept.sum() / (ends.max() - begin) * share
    return Result(rate, *numpy.percentile(took[kept], [50, 95, 99]) * 1000, wal_bytes)


def position(db):
    return int(db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0])


def alternate(server, subjects, load, rounds, time):
    """Every subject once a round, in an order that turns, so that none has the better place."""
    results = {subject.name: [] for subject in subjects}
    for turn in range(rounds):
        start = turn % len(subjects)
        for subject in subjects[start:] + subjects[:start]:
            results[subject.name].append(subject.measure(server, load, time))
    return asdict(load) | {"subjects": {name: summary(runs) for name, runs in results.items()}}


def summary(runs):
    rounds = [{name: None if value is None else float(f"{value:.5g}") for name, value in asdict(run).items()} for run in runs]
    middle = {name: None if rounds[0][name] is None else median(run[name] for run in rounds) for name in rounds[0]}
    return {"median": middle, "rounds": rounds}


def ratio(cell, subject, rival, by_median_call=False):
    """The median of the ratios of each round, and the least and the greatest of them: of what was done in
    the time, or of what the median call took, which on a busy machine is what the work itself takes."""
    pairs = list(zip(cell["subjects"][subject]["rounds"], cell["subjects"][rival]["rounds"]))
    if by_median_call:
        ratios = [other["p50_ms"] / one["p50_ms"] for one, other in pairs]
    else:
        ratios = [one["per_second"] / other["per_second"] for one, other in pairs]
    return median(ratios), min(ratios), max(ratios)
