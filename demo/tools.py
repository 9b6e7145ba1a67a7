"""What a run of a workflow has at hand: a database connection, and the programs outside."""

import json
import subprocess
import urllib.request
from urllib.parse import urlencode


class Database:
    """A connection of its own to the server that PGHOST, PGPORT and PGDATABASE name."""

    def __init__(self):
        self.psql = subprocess.Popen(
            ["psql", "-X", "--quiet", "--no-align", "--tuples-only", "-v", "ON_ERROR_STOP=1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.query("SELECT 1")

    def query(self, sql, *values):
        """The rows of a statement, as text. Each %s in it is one of the values."""
        self.psql.stdin.write(sql % tuple(map(literal, values)) + ";\n\\echo --end--\n")
        self.psql.stdin.flush()
        rows = []
        for line in self.psql.stdout:
            if line == "--end--\n":
                return rows
            rows.append(line.rstrip("\n"))
        raise SystemExit("the database refused: " + sql)

    def ask(self, sql, *values):
        """The answer of a pg_claims function: always one row, always one JSON object."""
        [answer] = self.query(sql, *values)
        return json.loads(answer)


def literal(value):
    return "'" + str(value).replace("'", "''") + "'"


class Client:
    """Of a program outside (app.py)."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/"

    def add(self, **entry):
        return self.ask(urllib.request.Request(self.url, json.dumps(entry).encode()))

    def find(self, **fields):
        return self.ask(f"{self.url}?{urlencode(fields)}")

    def ask(self, request):
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
