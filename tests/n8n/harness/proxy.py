"""A proxy between n8n and PostgreSQL that loses, or holds up, what it is told to.

It reads just enough of the protocol to know a statement when it passes, and the end of its answer.
"""

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass

from harness.places import free_port


@dataclass
class Rule:
    words: tuple
    does: str
    times: int
    hits: int = 0


class Proxy:
    """Listens on `port`. Runs in a thread of its own."""

    def __init__(self, host, port):
        self.server = (host, port)
        self.port = free_port()
        self.rules = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.listener = self.run(asyncio.start_server(self.serve, "127.0.0.1", self.port))

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def drop_answer(self, *words, times=1):
        """The next statement with all these words is executed and committed; its answer is lost."""
        return self.add(Rule(words, "drop answer", times))

    def drop_statement(self, *words, times=1):
        """The next statement with all these words never reaches the server."""
        return self.add(Rule(words, "drop statement", times))

    def hold(self, *words, until):
        """Statements with all these words wait until there are so many of them; then all go on."""
        return self.add(Rule(words, "hold", until))

    def add(self, rule):
        self.rules.append(rule)
        return rule

    def forget(self):
        self.rules.clear()

    def rule_for(self, statement):
        for rule in self.rules:
            if rule.hits < rule.times and all(word.encode() in statement for word in rule.words):
                rule.hits += 1
                return rule
        return None

    async def serve(self, client_in, client_out):
        server_in, server_out = await asyncio.open_connection(*self.server)
        dropping = asyncio.Event()
        tasks = [asyncio.create_task(self.to_server(client_in, server_out, dropping)),
                 asyncio.create_task(self.to_client(server_in, client_out, dropping))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            for out in (client_out, server_out):
                out.close()

    async def to_server(self, client_in, server_out, dropping):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            # The first message has no type.
            server_out.write(await message(client_in, b""))
            while True:
                kind, data = await typed_message(client_in)
                rule = self.rule_for(data) if kind in b"QP" else None
                does = rule.does if rule else None
                if does == "drop statement":
                    return
                if does == "drop answer":
                    dropping.set()
                while does == "hold" and rule.hits < rule.times:
                    await asyncio.sleep(0.01)
                server_out.write(data)
                await server_out.drain()
                if does == "drop answer":
                    # The connection ends when the answer has come.
                    await asyncio.Event().wait()

    async def to_client(self, server_in, client_out, dropping):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                kind, data = await typed_message(server_in)
                if not dropping.is_set():
                    client_out.write(data)
                    await client_out.drain()
                elif kind == b"Z":
                    # Ready for the next query: what came before is committed.
                    return

    def stop(self):
        self.listener.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)


async def typed_message(reader):
    kind = await reader.readexactly(1)
    return kind, await message(reader, kind)


async def message(reader, kind):
    length = await reader.readexactly(4)
    return kind + length + await reader.readexactly(int.from_bytes(length) - 4)
