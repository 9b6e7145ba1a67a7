"""What the programs outside of the database have in common: they take everything they
are sent, as real ones do, and append a line to their log. Nothing is ever taken for a
repetition. The demo counts the lines of that log and nothing else.

    POST /   a JSON object    201, with the line that was written: the object, its id, the time
    GET  /?name=value         the lines with that value, as a JSON array
"""

import json
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit


class Server(ThreadingHTTPServer):
    # Twenty runs connect in the same instant.
    request_queue_size = 128


def serve(id_prefix):
    """Serves until it is killed. The first argument is the log; the port is printed."""
    log_file = Path(sys.argv[1])
    log = log_file.open("a", encoding="utf-8")
    numbers = count(1)

    class App(BaseHTTPRequestHandler):
        def do_POST(self):
            entry = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            entry = {"id": f"{id_prefix}-{next(numbers)}", **entry, "at": datetime.now(timezone.utc).isoformat()}
            # One write of one line, so that twenty at once do not mix.
            log.write(json.dumps(entry) + "\n")
            log.flush()
            self.answer(201, entry)

        def do_GET(self):
            wanted = parse_qsl(urlsplit(self.path).query)
            entries = map(json.loads, log_file.read_text(encoding="utf-8").splitlines())
            self.answer(200, [entry for entry in entries if all(entry.get(name) == value for name, value in wanted)])

        def answer(self, status, content):
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = Server(("127.0.0.1", 0), App)
    print(server.server_address[1], flush=True)
    server.serve_forever()
