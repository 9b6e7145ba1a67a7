"""The calendar: a program of its own, like the one that a workflow books in.

It takes every booking it is sent, as real calendars do, and appends a line to
its log. The demo counts the lines of that log and nothing else.

    POST /book   {"slot": "...", "run": "..."}

Usage: calendar_app.py LOGFILE     prints the port it listens on
"""

import json
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

log = open(sys.argv[1], "a", encoding="utf-8")


class Calendar(BaseHTTPRequestHandler):
    def do_POST(self):
        booking = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        booking["at"] = datetime.now(timezone.utc).isoformat()
        # One write of one line, so that twenty at once do not mix.
        log.write(json.dumps(booking) + "\n")
        log.flush()
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    # Twenty runs connect in the same instant.
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Calendar)
print(server.server_address[1], flush=True)
server.serve_forever()
