"""Agents that run elsewhere: a real MCP server of the official SDK on loopback, over Streamable HTTP and over SSE."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from operable.host import define_agent_cli
from operable.kernel.errors import Fail
from tests.host.agents import manifest
from tests.host.mcp_server import McpServer, serving

SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("echo")

@server.tool()
def prompt(prompt: str) -> str:
    "Answer."
    return f"You said: {prompt}"

server.run(transport=sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))
"""


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


@pytest.fixture(params=["http", "sse"])
def server(request):
    """(manifest's transport, address, port, process) of a running server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = {"http": "streamable-http", "sse": "sse"}[request.param]
    process = subprocess.Popen([sys.executable, "-c", SERVER, name, str(port)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield (
        request.param,
        f"http://127.0.0.1:{port}/{'mcp' if request.param == 'http' else 'sse'}",
        port,
        process,
    )
    process.kill()
    process.wait()


def remote(tmp_path, transport, url, egress):
    described = manifest(tmp_path)
    del described["adapter"]
    sandbox = {"provider": "local", "config": {}, "network": {"egress": egress}}
    mcp = {"transport": transport, "url": url}
    return define_agent_cli({**described, "protocol": "mcp", "mcp": mcp, "sandbox": sandbox})


def test_two_turns_with_an_agent_behind_a_web_address(tmp_path, server):
    transport, url, port, _ = server
    agent = remote(tmp_path, transport, url, [f"127.0.0.1:{port}"])

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            turns = [await session.send(word).result() for word in ("one", "two")]
        return turns, session.status

    turns, status = run(scene())

    assert [turn.text for turn in turns] == ["You said: one", "You said: two"]
    assert status == "exited"
    assert not (tmp_path / "calls").exists()  # nothing was started here


def test_a_server_that_goes_away_ends_the_turn_and_the_session(tmp_path, server):
    transport, url, port, process = server
    agent = remote(tmp_path, transport, url, [f"127.0.0.1:{port}"])

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            await session.send("one").result()
            process.kill()
            process.wait()
            return await session.send("two").result()

    assert run(scene()).reason == "error"


def test_an_address_that_is_not_on_the_list_is_not_reached(tmp_path):
    agent = remote(tmp_path, "http", "http://127.0.0.1:9/mcp", ["example.com"])

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path)))

    assert failure.value.code == "EGRESS_NOT_LISTED"


def test_nobody_there_is_told_at_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    agent = remote(tmp_path, "http", f"http://127.0.0.1:{port}/mcp", [f"127.0.0.1:{port}"])

    with pytest.raises(Fail) as failure:
        run(agent.start(workspace=str(tmp_path)))

    assert failure.value.code == "AGENT_EXITED"


class Awkward(McpServer):
    """A server whose one tool does what it is asked to: `end` ends the stream without an answer, `think` answers late."""

    protocol_version = "HTTP/1.1"
    taken_back = threading.Event()

    def take(self, asked):
        if asked["method"] == "notifications/cancelled":
            self.taken_back.set()
        super().take(asked)

    def call(self, asked, word):
        if word == "end":
            self.answer(200, b": nothing\n\n", "text/event-stream")
            return
        if word == "think":
            self.taken_back.wait(200)
        super().call(asked, word)


@pytest.fixture
def awkward():
    Awkward.taken_back.clear()
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Awkward)) as running:
        yield running.server_port
        Awkward.taken_back.set()


def test_a_stream_that_ends_without_the_answer_ends_the_turn_at_once(tmp_path, awkward):
    agent = remote(tmp_path, "http", f"http://127.0.0.1:{awkward}/mcp", [f"127.0.0.1:{awkward}"])

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            return await session.send("end").result()

    found = run(scene())

    assert found.reason == "error"
    assert "the stream ended without the answer" in str(found.errors)


def test_a_cancel_reaches_a_server_that_answers_only_when_it_is_done(tmp_path, awkward):
    agent = remote(tmp_path, "http", f"http://127.0.0.1:{awkward}/mcp", [f"127.0.0.1:{awkward}"])

    async def scene():
        async with await agent.start(workspace=str(tmp_path)) as session:
            turn = session.send("think")
            await session.cancel()
            first = await turn.result()
            assert await asyncio.to_thread(Awkward.taken_back.wait, 150)
            return first, await session.send("again").result()

    first, second = run(scene())

    assert first.reason == "cancelled"
    assert second.text == "You said: again"


class Watched(ThreadingHTTPServer):
    """A server that notes what it was asked."""

    seen: dict[str, Any]


class Closing(Awkward):
    """A server that closes its streams. It numbers what it says, and the rest of it is to be fetched."""

    server: Watched

    def setup(self):
        super().setup()
        self.seen = self.server.seen

    def call(self, asked, word):
        if word in ("later", "never"):
            self.seen["waiting"] = asked["id"]
            self.answer(200, f"id: {word}\nretry: 10\ndata:\n\n".encode(), "text/event-stream")
        else:
            super().call(asked, word)

    def end_headers(self):
        self.send_header("mcp-session-id", "s1")
        super().end_headers()

    def listened(self):
        last = self.headers["last-event-id"]
        if last == "later":
            result = {"content": [{"type": "text", "text": "at last"}]}
            answer = json.dumps({"jsonrpc": "2.0", "id": self.seen["waiting"], "result": result})
            self.answer(200, f"id: later\ndata: {answer}\n\n".encode(), "text/event-stream")
        elif last == "never":
            self.answer(404, b"what was that?")
        else:
            self._unasked(last)

    def _unasked(self, last):
        opened = self.seen["opened"]
        opened.append(last)
        if len(opened) == 4:
            self.seen["enough"].set()
        if last == "2":
            self.answer(400, b"what was that?")
        elif len(opened) > 4:
            self.answer(405, b"")
        else:
            self.answer(200, f"id: {len(opened)}\nretry: 10\ndata:\n\n".encode(), "text/event-stream")


@pytest.fixture
def closing():
    running = Watched(("127.0.0.1", 0), Closing)
    running.seen = {"opened": [], "enough": threading.Event()}
    with serving(running):
        yield running


def closing_agent(tmp_path, closing):
    port = closing.server_port
    return remote(tmp_path, "http", f"http://127.0.0.1:{port}/mcp", [f"127.0.0.1:{port}"])


def test_a_stream_that_the_server_closes_is_opened_again_from_where_it_was_or_else_from_now(
    tmp_path, closing
):
    async def scene():
        async with await closing_agent(tmp_path, closing).start(workspace=str(tmp_path)):
            assert await asyncio.to_thread(closing.seen["enough"].wait, 150)

    run(scene())

    assert closing.seen["opened"][:4] == [None, "1", "2", None]


def test_an_answer_whose_stream_is_closed_is_fetched_from_where_it_was(tmp_path, closing):
    async def scene():
        async with await closing_agent(tmp_path, closing).start(workspace=str(tmp_path)) as session:
            return await session.send("later").result()

    assert run(scene()).text == "at last"


def test_an_answer_that_the_server_does_not_know_any_more_ends_the_turn_with_its_words(tmp_path, closing):
    async def scene():
        async with await closing_agent(tmp_path, closing).start(workspace=str(tmp_path)) as session:
            return await session.send("never").result()

    found = run(scene())

    assert found.reason == "error"
    assert "HTTP 404: what was that?" in str(found.errors)
