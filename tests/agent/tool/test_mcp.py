"""MCP servers, of the official SDK where they are called, added by a host to a real agent."""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.agent_process import LIMIT, AgentProcess, of_type, problems, text_in
from tests.requirement import requirement

# The official SDK takes more than a second of CPU to load, on both sides.
pytestmark = pytest.mark.timeout(400)
ROOT = Path(__file__).parents[3]
SERVER = {
    "type": "add_mcp_server",
    "name": "shop",
    "transport": "stdio",
    "command": sys.executable,
    "args": ["-m", "tests.agent.mcp_server", "stdio"],
    "env": {"CURRENCY": "marks", "PYTHONPATH": str(ROOT)},
}
# The same tools without the SDK on the side of the server.
PLAIN = {**SERVER, "args": [str(ROOT / "tests/agent/plain_mcp_server.py")]}
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


def test_names_are_given_out_in_the_order_of_the_servers_however_fast_they_answer(tmp_path: Path) -> None:
    slow = {**PLAIN, "env": {**PLAIN["env"], "GATE": str(tmp_path / "gate")}}  # type: ignore[dict-item]
    os.mkfifo(tmp_path / "gate")
    with AgentProcess(tmp_path) as agent:
        agent.send(slow)
        agent.send({**PLAIN, "name": "other", "env": {**PLAIN["env"], "READY": str(tmp_path / "ready")}})  # type: ignore[dict-item]
        text_in(tmp_path / "ready")
        with open(tmp_path / "gate", "w"):
            pass  # now the first one may begin, and the second has listed its tools or is about to
        ready = [agent.until("mcp_ready") for _ in range(2)]
        assert agent.end() == 0
    assert [(each["name"], each["tools"]) for each in ready] == [
        ("shop", NAMES),
        ("other", ["mcp__other_price", "mcp__other_Read", "mcp__other_sell", "mcp__other_wait"]),
    ]


@pytest.mark.parametrize(
    "allowed, asked",
    [
        ("price", ["price", "mcp__other_price"]),
        ("other/price", ["price"]),
        ("shop/price", ["mcp__other_price"]),
    ],
)
def test_permission_is_for_a_tool_of_a_server_and_not_for_a_name(
    allowed: str, asked: list[str], tmp_path: Path
) -> None:
    with AgentProcess(tmp_path, "--allow", allowed) as agent:
        agent.send(PLAIN)
        agent.send({**PLAIN, "name": "other"})
        agent.script('call price {"item": "tea"}', 'call mcp__other_price {"item": "tea"}', "say .")
        requests = [agent.until("tool_request") for _ in asked]
        for request in requests:
            agent.send({"type": "tool_deny", "call_id": request["call_id"]})
        agent.answer()
        assert agent.end() == 0
    assert [request["tool"]["name"] for request in of_type(agent.events, "tool_request")] == asked


def test_always_said_of_one_servers_tool_allows_this_tool_alone(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.send(PLAIN)
        agent.script('call price {"item": "tea"}', "say .")
        agent.send(
            {"type": "tool_approve", "call_id": agent.until("tool_request")["call_id"], "scope": "always"}
        )
        agent.answer()
        agent.script('call price {"item": "milk"}', 'call sell {"item": "milk"}', "say .", msg_id="m2")
        request = agent.until("tool_request")
        agent.send({"type": "tool_deny", "call_id": request["call_id"]})
        agent.answer("m2")
        assert agent.end() == 0
    assert request["tool"]["name"] == "sell"
    assert len(of_type(agent.events, "tool_request")) == 2


def test_no_server_takes_a_name_that_is_taken_for_another_tool_or_that_models_cannot_be_given(
    tmp_path: Path,
) -> None:
    odd = [
        "mcp__shop_price",
        "MCP__shop_price",
        "bash",
        "execCommand",
        "a.b",
        "a/b",
        "B\u0430sh",
        "x" * 65,
        "plain",
    ]
    first = {**PLAIN, "name": "odd one", "env": {**PLAIN["env"], "TOOLS": json.dumps(odd)}}  # type: ignore[dict-item]
    with AgentProcess(tmp_path) as agent:
        agent.send(first)
        agent.send({**PLAIN, "env": {**PLAIN["env"], "TOOLS": '["PLAIN", "price"]'}})  # type: ignore[dict-item]
        ready = [agent.until("mcp_ready") for _ in range(2)]
        assert agent.end() == 0
    assert ready[0]["tools"] == [
        "mcp__odd_one_mcp__shop_price",
        "mcp__odd_one_MCP__shop_price_2",
        "mcp__odd_one_bash",
        "mcp__odd_one_execCommand",
        "mcp__odd_one_a_b",
        "mcp__odd_one_a_b_2",
        "mcp__odd_one_B_sh",
        "mcp__odd_one_" + "x" * 43,
        "plain",
    ]
    assert ready[1]["tools"] == ["mcp__shop_PLAIN", "price"]


def test_a_second_server_of_the_same_name_is_refused(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.send(PLAIN)
        agent.send(PLAIN)
        refusal = agent.until("error")["error"]
        assert agent.until("mcp_ready")["tools"] == NAMES
        agent.message("go on")
        agent.answer()
        assert agent.end() == 0
    assert refusal["code"] == "protocol_error"
    assert refusal["message"] == "AddMcpServer 'shop': a server with this name already exists"
    assert len(of_type(agent.events, "mcp_ready")) == 1


def test_a_name_that_failed_may_be_given_again(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.send({**PLAIN, "command": "/nonexistent/server"})
        agent.until("error")
        agent.send(PLAIN)
        assert agent.until("mcp_ready")["tools"] == NAMES
        assert agent.end() == 0


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
    [
        {"transport": "pigeon"},
        {"command": None},
        {"transport": "sse", "url": "ftp://x"},
        {"name": ""},
        {"name": "a/b"},
    ],
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
        server = os.pidfd_open(int(text_in(tmp_path / "waiting")))
        if how == "stop":
            agent.send({"type": "stop"})
            agent.answer()
            assert agent.end() == 0
        else:
            agent.process.kill()
            agent.wait()
        assert select.select([server], [], [], LIMIT)[0] == [server]
        os.close(server)
