"""A language model that does what the test says: OpenAI's chat completions, answered from a script.

A script is a list of turns. A turn that is a list of arguments calls the agent's first tool with each
of them, in one message; a turn that is a text is the last word. What the tool answered is kept.
"""

import asyncio
import json
import threading

from aiohttp import web

from harness.places import free_port


class Model:
    def __init__(self):
        self.port = free_port()
        self.script = []
        self.tool_answers = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.runner = asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result(30)

    async def listen(self):
        application = web.Application()
        application.router.add_post("/v1/chat/completions", self.complete)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        return runner

    def says(self, *turns):
        """What it says next, to each conversation from its beginning."""
        self.script = turns
        self.tool_answers = []

    async def complete(self, request):
        order = await request.json()
        # Each call has the number of its turn in its id; the agent may repeat them one message each.
        answered = {message["tool_call_id"]: message["content"] for message in order["messages"] if message["role"] == "tool"}
        turn = max((turn_of(call) + 1 for call in answered), default=0)
        self.tool_answers += [json.loads(answer)[0] for call, answer in answered.items() if turn_of(call) == turn - 1]
        return web.json_response({
            "id": "chat", "object": "chat.completion", "created": 0, "model": order["model"],
            "choices": [self.choice(self.script[turn], turn, order)],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})

    def choice(self, said, turn, order):
        if isinstance(said, str):
            return {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        tool = order["tools"][0]["function"]["name"]
        calls = [{"id": f"call_{turn}_{n}", "type": "function",
                  "function": {"name": tool, "arguments": json.dumps(arguments)}} for n, arguments in enumerate(said)]
        return {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": calls},
                "finish_reason": "tool_calls"}

    @property
    def credential(self):
        return {"id": "model", "name": "model", "type": "openAiApi",
                "data": {"apiKey": "none", "url": f"http://127.0.0.1:{self.port}/v1"}}

    def stop(self):
        asyncio.run_coroutine_threadsafe(self.runner.cleanup(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)


def turn_of(call):
    return int(call.split("_")[1])
