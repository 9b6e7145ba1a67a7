"""A database goes to another server: by pg_upgrade, by a dump, by logical replication."""

import shutil
import signal
import tempfile

from calls import WRITING
from life import goes_on, live, memory
from own_server import AS_SERVER, Server, ask, refusal, until


def test_pg_upgrade_from_15_to_18(servers, programs):
    old = servers("upgrade_old", programs=programs(15))
    live(old)
    before = memory(old)
    old.stop(signal.SIGINT)
    # 18 would have checksums, and 15 has none.
    new = servers.keep(Server.prepare("upgrade_new", programs=programs(18), initdb=["--no-data-checksums"]))
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="pg_claims.") as sockets:
        if AS_SERVER:
            shutil.chown(sockets, AS_SERVER["user"])
        new.run("pg_upgrade", "--username", "postgres", "--socketdir", sockets, "--old-bindir", old.programs, "--new-bindir", new.programs,
                "--old-datadir", old.data, "--new-datadir", new.data, cwd=new.home)
    new.start()
    with new.connect() as session:
        assert session.execute("SELECT current_setting('server_version_num')::int / 10000").fetchone() == (18,)
    assert memory(new) == before
    goes_on(new)


def test_a_dump_of_15_restored_into_18(servers, programs):
    old, new = servers("dump_15", programs=programs(15)), servers("dump_18", programs=programs(18), extension=False)
    live(old)
    before = memory(old)
    copy(old, new)
    assert memory(new) == before
    goes_on(new)


def copy(source, target, *options):
    """pg_dumpall's roles and pg_dump's database, by the newer server's programs."""
    address = ["-h", "127.0.0.1", "-U", "postgres"]
    roles = target.run("pg_dumpall", "--roles-only", *address, "-p", source.port)
    database = target.run("pg_dump", *options, *address, "-p", source.port, source.database)
    with target.connect("postgres") as admin:
        admin.execute(f"CREATE DATABASE {target.database} TEMPLATE template0")
    roles = roles.replace("CREATE ROLE postgres;", "")
    target.run("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", *address, "-p", target.port, target.database, given=roles + database)


def test_a_subscriber_looks_on_until_it_takes_over(servers):
    publisher, subscriber = servers("publisher", wal_level="logical"), servers("subscriber", extension=False)
    live(publisher)
    copy(publisher, subscriber, "--schema-only")
    with publisher.connect() as writing, subscriber.connect() as looking:
        # All tables, as those do who move a whole server in this way.
        writing.execute("CREATE PUBLICATION everything FOR ALL TABLES")
        looking.execute(f"CREATE SUBSCRIPTION everything CONNECTION 'host=127.0.0.1 port={publisher.port} "
                        f"user=postgres dbname={publisher.database}' PUBLICATION everything")
        follows(publisher, subscriber)

        assert ask(writing, "claim_slot('late', 'publisher')")["ok"]
        assert ask(writing, "patch_row('accounts', 1, 2, '{\"email\": \"changed\"}', 'form')")["version"] == 3
        # Rows without a primary key are deleted too.
        writing.execute("UPDATE claims.row_history SET changed_at = changed_at - interval '1 year'")
        assert ask(writing, "reap_stale_claims()")["ok"]
        assert writing.execute("SELECT count(*) FROM claims.row_history").fetchone() == (0,)
        follows(publisher, subscriber)

        assert ask(looking, "check_slot('late')")["holder"] == "publisher"
        looking.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        for call in WRITING.values():
            call = call.replace("customers", "accounts")
            refused = refusal(looking, call)
            assert refused.sqlstate == "25006", call
            assert "DROP SUBSCRIPTION" in refused.message_hint, call

        looking.execute("DROP SUBSCRIPTION everything")
        assert ask(looking, "claim_slot('late', 'subscriber')")["outcome"] == "taken"
        assert ask(looking, "patch_row('accounts', 1, 3, '{\"email\": \"old\"}', 'form')")["version"] == 4


def follows(publisher, subscriber):
    def same():
        return memory(subscriber) == memory(publisher)
    until("the subscriber has it all", same, seconds=120)
