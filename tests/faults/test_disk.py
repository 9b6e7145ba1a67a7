"""The disk is full: a small one of the test's own, which only root can mount."""

import contextlib
import os
import subprocess

import psycopg
import pytest

from calls import LOOKING, SETUP
from own_server import PLACE, ask, own_folder


@pytest.fixture
def small_disk():
    mounted = []

    def mount(name, size):
        folder = PLACE / "own" / name
        if folder.is_mount():  # left by a run that was killed
            subprocess.run(["umount", "--lazy", folder], check=True)
        own_folder(folder)
        if os.geteuid() != 0:
            pytest.skip("only root can mount the small disk")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},uid=postgres,gid=postgres,mode=0700", "pg_claims", folder], check=True)
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


SPARE_BYTES = 2 << 20


def fill(disk):
    """To the last byte but a few."""
    with open(disk / "ballast", "wb", buffering=0) as ballast:
        with contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(1 << 16))
        ballast.truncate(ballast.tell() - SPARE_BYTES)


def test_a_full_data_disk_refuses_what_writes_and_loses_nothing(servers, small_disk):
    server = servers("full_disk", extension=False)
    disk = small_disk("disk", "64m")
    with server.connect("postgres") as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
    server.create_database("TABLESPACE small")
    note = '{"of": "%s"}' % ("x" * 900)
    with server.connect() as session:
        session.execute(SETUP)
        fill(disk)
        acknowledged, said = [], None
        for number in range(20_000):
            slot = f"slot {number}"
            try:
                assert ask(session, "claim_slot(%s, 'run', ttl => '1 h', note => %s::jsonb)", slot, note)["ok"]
                acknowledged.append(slot)
            except psycopg.errors.DiskFull as error:
                said = error.diag
                break
        assert said, "the disk was never full"
        print(f"\n{len(acknowledged)} claims had room; then {said.sqlstate} {said.message_primary} {said.message_hint}")
        assert said.sqlstate == "53100" and "backtrace" not in f"{said.message_detail} {said.context}"
        # The same session goes on: who only looks or loses is answered, and nothing half done is there.
        assert ask(session, "check_slot(%s)", slot)["outcome"] == "absent"
        assert ask(session, "claim_slot('kept', 'other')")["outcome"] == "taken"
        for name, call in LOOKING.items():
            assert "ok" in ask(session, call), name
        (disk / "ballast").unlink()
        assert ask(session, "claim_slot(%s, 'run', ttl => '1 h', note => %s::jsonb)", slot, note)["token"] == 1
        for slot in acknowledged:
            assert ask(session, "confirm_slot(%s, 'run', 1)", slot)["outcome"] == "confirmed"
    server.assert_sound()
    server.never_crashed()


def test_a_full_wal_disk_stops_the_server_and_what_was_acknowledged_is_there_afterwards(servers, small_disk):
    """That it stops is PostgreSQL's rule: it cannot go on without its WAL."""
    disk = small_disk("wal", "64m")
    server = servers("full_wal", initdb=[f"--waldir={disk}/wal", "--wal-segsize=1"], max_wal_size="1GB")
    acknowledged, unanswered = [], None
    with server.connect() as session:
        session.execute("SELECT check_slot('any')")
        fill(disk)
        for number in range(50_000):
            slot = f"slot {number}"
            try:
                assert ask(session, "claim_slot(%s, 'run', ttl => '1 h')", slot)["ok"]
                acknowledged.append(slot)
            except psycopg.OperationalError:
                unanswered = slot
                break
    assert unanswered, "the disk was never full"
    assert "PANIC" in server.log.read_text() and "No space left on device" in server.log.read_text()
    server.stop()
    (disk / "ballast").unlink()
    server.start()
    print(f"\n{len(acknowledged)} claims before the server stopped")
    with server.connect() as session:
        for slot in acknowledged:
            assert ask(session, "check_slot(%s)", slot)["holder"] == "run"
        # Either all of it or nothing: it can be repeated as it was.
        assert ask(session, "claim_slot(%s, 'run', ttl => '1 h')", unanswered)["outcome"] in ("claimed", "already_yours")
    server.assert_sound()
