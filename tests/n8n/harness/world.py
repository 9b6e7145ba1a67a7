"""The world outside n8n: a calendar, a payment provider, whatever a workflow calls over HTTP.

Run as a program it is a server that n8n takes for its HTTP proxy, so the workflows call the hosts that
stand in their files (http://calendar.example) and need no change to be tested. Every host has
collections: POST /bookings adds a record, GET /bookings?slot=… lists those that match. It takes a
booking as often as it is told to, and logs every request as lines of JSON: what was not prevented by
the workflow and the database did happen, and shows.

The class World is the test's side of it.
"""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from aiohttp import web

from harness.places import STATE, dying_with_me, free_port, tail
from harness.waiting import wait_until

# --- the server ------------------------------------------------------------------------------


class Server:
    def __init__(self, log):
        self.log = log
        self.requests = 0
        self.records = []
        self.behaviours = {}
        self.opened = asyncio.Event()

    def application(self):
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.handle)
        return application

    async def handle(self, request):
        if not request.host.endswith(".example"):
            return await self.control(request)
        self.requests += 1
        number = self.requests
        body = await request.json() if request.can_read_body else None
        self.write(number, "start", host=request.host, method=request.method, path=request.path,
                   query=dict(request.query), body=body)
        status = None
        try:
            response = await self.behave(request, number, body)
            status = response.status
            return response
        finally:
            # No status: the client went away before it was answered.
            self.write(number, "end", status=status)

    async def behave(self, request, number, body):
        behaviour = self.behaviours.get(f"{request.method} {request.host}", {"mode": "normal"})
        match behaviour["mode"]:
            case "slow":
                await asyncio.sleep(behaviour["seconds"])
            case "hold":
                await self.opened.wait()
            case "refuse":
                return web.json_response({"message": behaviour["message"]}, status=behaviour["status"])
            case "lose":
                self.act(request, number, body)
                await asyncio.Event().wait()
        return self.act(request, number, body)

    def act(self, request, number, body):
        collection = request.path.strip("/")
        if request.method == "GET":
            found = [record["data"] for record in self.records
                     if (record["host"], record["collection"]) == (request.host, collection)
                     and all(str(record["data"].get(name)) == value for name, value in request.query.items())]
            return web.json_response({collection: found})
        made = {"id": f"{collection}-{len(self.records) + 1}", **(body or {})}
        self.records.append({"host": request.host, "collection": collection, "data": made})
        self.write(number, "done", made=made)
        return web.json_response(made, status=201)

    async def control(self, request):
        order = await request.json()
        match request.path:
            case "/behave":
                self.behaviours[f"{order['method']} {order['host']}"] = order
                self.opened.clear()
            case "/open":
                self.opened.set()
            case "/normal":
                self.behaviours.clear()
                self.opened.set()
        return web.json_response({})

    def write(self, number, event, **facts):
        print(json.dumps({"request": number, "event": event, "at": time.time(), **facts}), file=self.log, flush=True)


def serve():
    port, log = int(sys.argv[1]), sys.argv[2]
    with open(log, "a", encoding="utf-8") as lines:
        # With handler_cancellation a request whose client has gone ends at that moment, and says so.
        web.run_app(Server(lines).application(), host="127.0.0.1", port=port, print=None, handler_cancellation=True,
                    access_log=None)


# --- the test's side -------------------------------------------------------------------------


@dataclass
class Request:
    """One request that n8n made, from its start to its end. `made` is the record it left."""

    host: str
    method: str
    path: str
    query: dict
    body: dict | None
    started_at: float
    ended_at: float | None = None
    status: int | None = None
    made: list = field(default_factory=list)


class World:
    def __init__(self):
        self.port = free_port()
        self.log = STATE / "world.jsonl"
        self.output = STATE / "world.log"
        with open(self.output, "w", encoding="utf-8") as output:
            program = dying_with_me(sys.executable, "-m", "harness.world", str(self.port), str(self.log))
            self.process = subprocess.Popen(program, cwd=Path(__file__).parents[1], stdout=output, stderr=output)
        self.client = httpx.Client(base_url=self.url, trust_env=False)
        wait_until(self.is_there, "the world has begun")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def is_there(self):
        assert self.process.poll() is None, tail(self.output)
        try:
            self.normal()
            return True
        except httpx.ConnectError:
            return False

    def slow(self, host, method, seconds):
        """From now on such requests take that long."""
        self.order("/behave", host=host, method=method, mode="slow", seconds=seconds)

    def hold(self, host, method):
        """Such requests wait, before anything is done, until open()."""
        self.order("/behave", host=host, method=method, mode="hold")

    def open(self):
        self.order("/open")

    def refuse(self, host, method, status=422, message="we are closed"):
        """Such requests are refused, and nothing is done."""
        self.order("/behave", host=host, method=method, mode="refuse", status=status, message=message)

    def lose(self, host, method):
        """Such requests are carried out, and never answered: the client times out."""
        self.order("/behave", host=host, method=method, mode="lose")

    def normal(self):
        self.order("/normal")

    def order(self, path, **order):
        if "host" in order:
            order["host"] += ".example"
        self.client.post(path, json=order).raise_for_status()

    def requests(self, host, method, path=None, **fields):
        """What n8n asked of that host, oldest first; `fields` are of the body or the query."""
        found = {}
        for line in self.log.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            number, event, at = entry.pop("request"), entry.pop("event"), entry.pop("at")
            if event == "start":
                found[number] = Request(**entry, started_at=at)
            elif event == "done":
                found[number].made.append(entry["made"])
            else:
                found[number].ended_at, found[number].status = at, entry["status"]
        return [request for request in found.values()
                if request.host == f"{host}.example" and request.method == method
                and path in (None, request.path)
                and all({**request.query, **(request.body or {})}.get(name) == value for name, value in fields.items())]

    def made(self, host, path, **fields):
        """What really happened there: each record, as often as it was made."""
        return [made for request in self.requests(host, "POST", path, **fields) for made in request.made]

    def stop(self):
        self.client.close()
        self.process.terminate()
        self.process.wait(30)


def most_at_once(intervals):
    """How many of the (start, end) were under way at one moment."""
    moments = sorted([(start, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


if __name__ == "__main__":
    serve()
