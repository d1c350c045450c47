"""Agents that run elsewhere: a real MCP server of the official SDK on loopback, over Streamable HTTP and over SSE."""

import asyncio
import socket
import subprocess
import sys
import time

import pytest

from operable.host import define_agent_cli
from operable.host.http_transport import _same_host
from operable.kernel.errors import Fail
from tests.host.agents import manifest

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


def test_messages_are_never_posted_to_another_host():
    assert _same_host("http://a:1/sse", "/messages?id=1") == "http://a:1/messages?id=1"
    with pytest.raises(ValueError, match="another host"):
        _same_host("http://a:1/sse", "http://b:1/messages")
