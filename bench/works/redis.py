"""Redis, which people reach for first: SET NX PX, with both settings of its log that are meant to
survive a crash."""

import csv
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from measure import Load, Result, Script, alternate

from . import claims
from .alternating import fresh_database, sound

# Debian's redis-tools has the server's program under another name; called a server, it is one.
PROGRAM = shutil.which("redis-server") or shutil.which("redis-check-rdb")


def redis(server, plan):
    result = {"work": "redis", "title": "Redis",
              "note": "SET name holder NX PX 300000, by redis-benchmark. everysec loses up to a second of answered calls in a crash; "
                      "always is what synchronous_commit on is.", "cells": []}
    if not PROGRAM or not shutil.which("redis-benchmark"):
        return result | {"note": "Not measured: there is no Redis here."}
    fresh_database(server, claims.FILL)
    ours = Script("claim_slot", claims.NEW + "SELECT claim_slot({slot}, {holder});")
    with ExitStack() as servers:
        rivals = [SetNx(f"Redis, appendfsync {fsync}", servers.enter_context(running(fsync)), plan.size(20000, 10000, 500)
                        if fsync == "everysec" else plan.size(2000, 1000, 50)) for fsync in ("everysec", "always")]
        for clients in plan.clients(1, 8, 32, quick=(8,)):
            load = Load(clients)
            result["cells"].append(alternate(server, [ours, *rivals], load, plan.rounds, plan.time(load)))
    with server.connect("bench") as db:
        sound(db)
    return result


@contextmanager
def running(appendfsync):
    """The socket of a server of its own."""
    with tempfile.TemporaryDirectory(prefix="pg_claims_bench.") as folder:
        socket = f"{folder}/redis.sock"
        process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "",
             "--appendonly", "yes", "--appendfsync", appendfsync],
            executable=PROGRAM, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if Path(socket).exists():
                    break
                time.sleep(0.05)
            yield socket
        finally:
            process.terminate()
            process.wait()


@dataclass(frozen=True)
class SetNx:
    name: str
    socket: str
    # So many calls a client.
    calls: int

    def measure(self, _, load, __):
        ran = subprocess.run(
            ["redis-benchmark", "-s", self.socket, "-c", str(load.clients), "-n", str(self.calls * min(load.clients, 8)),
             "-r", "2000000000", "--csv", "SET", "slot:__rand_int__", "holder", "NX", "PX", "300000"],
            check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        (row,) = csv.DictReader(ran.stdout.splitlines())
        return Result(float(row["rps"]), *(float(row[f"p{part}_latency_ms"]) for part in (50, 95, 99)), None)
