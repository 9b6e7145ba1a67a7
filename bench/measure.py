"""One measurement: pgbench for some seconds, and what its log says of them."""

import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy

# The servers of this machine share its cores with pgbench.
THREADS = 2


@dataclass(frozen=True)
class Load:
    """How a subject is driven."""

    clients: int
    protocol: str = "prepared"
    synchronous_commit: str = "on"

    def __str__(self):
        clients = f"{self.clients} client{'s' if self.clients != 1 else ''}"
        return f"{clients}, {self.protocol}, synchronous_commit {self.synchronous_commit}"


@dataclass(frozen=True)
class Subject:
    """What is measured: a pgbench script, whose {names} in braces are texts to be passed.

    With the simple protocol they become quoted literals, as n8n sends them; prepared they become
    parameters.
    """

    name: str
    script: str
    database: str = "bench"
    # SQL before each measurement, outside of the time.
    before: str | None = None
    # A query that counts what has been done, where an answer may say that nothing was.
    counted: str | None = None
    # How many calls a transaction of the script has.
    calls: int = 1

    def text(self, protocol):
        quote = "':{}'" if protocol == "simple" else ":{}"
        names = ("slot", "holder", "key", "room")
        return self.script.format(**{name: quote.format(name) for name in names}).strip() + "\n"


@dataclass
class Result:
    """Of one subject in one round. The times are of one call, in milliseconds."""

    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    wal_bytes: float


def measure(server, subject, load, seconds, warm_up, turn):
    """Drives the subject, and leaves the first moments out: plans and caches are made then."""
    with server.connect(subject.database) as db, tempfile.TemporaryDirectory() as folder:
        if subject.before:
            db.execute(subject.before)
        folder = Path(folder)
        script = folder / "script.sql"
        script.write_text(subject.text(load.protocol), encoding="utf-8")
        wal, done = position(db), count(db, subject)
        ran = subprocess.run(
            [server.bin / "pgbench", "--no-vacuum", "--client", str(load.clients), "--jobs", str(min(THREADS, load.clients)),
             "--time", str(seconds), "--protocol", load.protocol, "--log", "--log-prefix", folder / "log",
             # A script that counts goes on where the round before ended.
             "--define", f"turn={turn}", "--define", "i=0", "--file", script],
            cwd="/", env=server.environment(synchronous_commit=load.synchronous_commit) | {"PGDATABASE": subject.database},
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if ran.returncode != 0 or "ERROR" in ran.stderr:
            raise RuntimeError(f"pgbench failed on {subject.name}:\n{ran.stderr}")
        ends, took = read_logs(folder)
        wal_bytes = (position(db) - wal) / len(ends)
        share = (count(db, subject) - done) / len(ends) if subject.counted else 1
    begin = (ends - took).min() + warm_up
    kept = ends >= begin
    if not kept.any():
        raise RuntimeError(f"{subject.name} did nothing after its warm-up")
    rate = kept.sum() / (ends.max() - begin) * share
    p50, p95, p99 = numpy.percentile(took[kept], [50, 95, 99]) * 1000 / subject.calls
    return Result(rate * subject.calls, p50, p95, p99, wal_bytes / subject.calls)


def position(db):
    return int(db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0])


def count(db, subject):
    return int(db.execute(subject.counted).fetchone()[0]) if subject.counted else 0


def read_logs(folder):
    """When each transaction ended, and how long it took, in seconds."""
    parts = [numpy.array(path.read_text().split(), dtype=float).reshape(-1, 6) for path in folder.glob("log.*")]
    rows = numpy.concatenate(parts)
    return rows[:, 4] + rows[:, 5] / 1e6, rows[:, 2] / 1e6


def alternate(server, subjects, load, rounds, seconds, warm_up):
    """Every subject once a round, in an order that turns, so that none has the better place."""
    results = {subject.name: [] for subject in subjects}
    for turn in range(rounds):
        start = turn % len(subjects)
        for subject in subjects[start:] + subjects[:start]:
            results[subject.name].append(measure(server, subject, load, seconds, warm_up, turn))
    return {
        "clients": load.clients, "protocol": load.protocol, "synchronous_commit": load.synchronous_commit,
        "subjects": {name: summary(runs) for name, runs in results.items()},
    }


def summary(runs):
    rounds = [{name: float(f"{value:.5g}") for name, value in asdict(run).items()} for run in runs]
    return {"median": {name: median(run[name] for run in rounds) for name in rounds[0]}, "rounds": rounds}


def ratio(cell, subject, rival):
    """The median of the ratios of each round, and the least and the greatest of them."""
    pairs = zip(cell["subjects"][subject]["rounds"], cell["subjects"][rival]["rounds"])
    ratios = [one["per_second"] / other["per_second"] for one, other in pairs]
    return median(ratios), min(ratios), max(ratios)
