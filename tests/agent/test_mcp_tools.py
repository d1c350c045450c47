"""MCP servers of the official SDK, added by a host to a real agent."""

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.agent_process import LIMIT, AgentProcess, of_type, problems
from tests.requirement import requirement

# The official SDK takes more than a second of CPU to load, on both sides.
pytestmark = pytest.mark.timeout(400)
ROOT = Path(__file__).parent.parent.parent
SERVER = {
    "type": "add_mcp_server",
    "name": "shop",
    "transport": "stdio",
    "command": sys.executable,
    "args": ["-m", "tests.agent.mcp_server", "stdio"],
    "env": {"CURRENCY": "marks", "PYTHONPATH": str(ROOT)},
}
NAMES = ["price", "mcp__shop_Read", "sell", "wait"]


@pytest.fixture(params=["sse", "streamable-http"])
def remote(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """(transport, url) of a server that listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.agent.mcp_server", request.param, str(port)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert process.stderr is not None
    while b"running on" not in process.stderr.readline():
        assert process.poll() is None
    yield request.param, f"http://127.0.0.1:{port}/{'sse' if request.param == 'sse' else 'mcp'}"
    process.kill()
    process.communicate(timeout=LIMIT)


@requirement("jsonstream:2:mcp-servers")
def test_the_tools_of_a_stdio_server_are_asked_about_and_called(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, env={"AGENT_KEY": "not for servers"}) as agent:
        agent.send(SERVER)
        assert agent.until("mcp_ready") == {"type": "mcp_ready", "name": "shop", "tools": NAMES}
        agent.script(
            'call price {"item": "tea"}',
            'call mcp__shop_Read {"file_path": "x"}',
            'call sell {"item": "tea"}',
            "say .",
        )
        requests = [agent.until("tool_request") for _ in range(3)]
        assert {request["tool"]["category"] for request in requests} == {"mcp"}
        for request in requests:
            agent.approve(request["call_id"])
        results = of_type(agent.answer(), "tool_result")
        assert agent.end() == 0
    assert [result["status"] for result in results] == ["success", "success", "error"]
    assert results[0]["output"] == "tea costs 3 marks, key unseen"
    assert results[1]["output"] == "from the shop: x"
    assert "sell" in results[2]["output"]


@requirement("jsonstream:2:mcp-servers")
def test_servers_over_http_are_called(remote: tuple[str, str], tmp_path: Path) -> None:
    transport, url = remote
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.send(
            {
                "type": "add_mcp_server",
                "name": "far",
                "transport": transport,
                "url": url,
                "headers": {"X-A": "b"},
            }
        )
        agent.script('call price {"item": "tea"}', "say .")  # waits for the server by itself
        results = of_type(agent.answer(), "tool_result")
        assert agent.end() == 0
    assert results[0]["output"] == "tea costs 3 crowns, key unseen"
    assert of_type(agent.events, "mcp_ready")[0]["name"] == "far"


@requirement("jsonstream:2:mcp-servers")
def test_a_server_that_cannot_be_had_is_one_error_without_its_secrets(tmp_path: Path) -> None:
    broken = [
        {**SERVER, "name": "gone", "command": "/nonexistent/server"},
        {
            **SERVER,
            "name": "mute",
            "command": "/bin/sh",
            "args": ["-c", "echo no json; exit 3"],
            "env": {"T": "hunter22"},
        },
        {
            "type": "add_mcp_server",
            "name": "far",
            "transport": "sse",
            "url": "http://127.0.0.1:9/sse",
            "headers": {"A": "hunter22"},
        },
    ]
    with AgentProcess(tmp_path) as agent:
        for command in broken:
            agent.send(command)
        agent.message("go on")
        agent.answer()
        assert agent.end() == 0
    found = problems(agent.events)
    assert sorted(message.split(":")[0] for _, message in found) == [
        "MCP server far", "MCP server gone", "MCP server mute",
    ]  # fmt: skip
    assert {code for code, _ in found} == {"config_error"}
    assert "hunter22" not in str(agent.events) + agent.stderr.decode()


@pytest.mark.parametrize(
    "wrong",
    [{"transport": "pigeon"}, {"command": None}, {"transport": "sse", "url": "ftp://x"}, {"name": ""}],
)
def test_a_command_that_cannot_be_meant_is_a_protocol_error(wrong: dict[str, str], tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.send({**SERVER, **wrong})
        assert agent.until("error")["error"]["code"] == "protocol_error"
        assert agent.end() == 0


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_call_ends_with_its_run_and_a_server_with_its_agent(how: str, tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.send(SERVER)
        agent.until("mcp_ready")
        agent.script("call wait {}")
        agent.until("tool_running")
        while not (tmp_path / "waiting").exists() or not (tmp_path / "waiting").read_text():
            pass
        server = os.pidfd_open(int((tmp_path / "waiting").read_text()))
        if how == "stop":
            agent.send({"type": "stop"})
            agent.answer()
            assert agent.end() == 0
        else:
            agent.process.kill()
            agent.wait()
        assert select.select([server], [], [], LIMIT)[0] == [server]
        os.close(server)
