"""`/mcp` of a real daemon, with the official client: sessions and everything callable, under tokens, scopes and the gate."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INVALID_PARAMS, ElicitResult

from operable.gate.audit.chain import read_audit
from operable.gate.audit.place import audit_path
from tests.host.scene import steps
from tests.serve.daemon import Client as Http
from tests.serve.daemon import credential, descendants, serving, until, write_agent
from tests.serve.test_mcp import connected as stdio
from tests.serve.test_mcp import run
from tests.serve.world import HERE, World
from tests.tool.drive import LIMIT

SESSION_TOOLS = {
    "agent_start",
    "agent_prompt",
    "agent_sessions_list",
    "agent_output",
    "agent_kill",
    "agent_interrupt",
    "agent_delegations",
    "approvals_list",
}
RULES = """
ask_timeout = 0.5
deny = ["tool/bench/long"]

[[caller]]
match = "mcp:admin"
allow = ["agent/sessions/*"]

[[caller]]
match = "session:*"
allow = ["agent/sessions/*"]
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    world.rules(RULES)
    write_agent(world.home)
    with serving(world.home, env=world.env | {"OPERABLE_HOME": str(world.home)}) as started:
        yield started


@asynccontextmanager
async def connected(client, *, mode="legacy", answer=None):
    """The official client with the token of a client."""

    async def elicited(context, params):
        return answer

    headers = {"Authorization": f"Bearer {client.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=LIMIT) as web,
        Client(
            streamable_http_client(f"{client.url}/mcp", http_client=web),
            mode=mode,
            elicitation_callback=elicited if answer is not None else None,
        ) as connection,
    ):
        yield connection


async def result(connection, name, /, **arguments):
    return (await connection.call_tool(name, arguments)).structured_content


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_session_is_started_prompted_read_and_ended_by_a_model(daemon, tmp_path, mode):
    async def scene():
        async with connected(daemon.admin, mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            (view,) = (await result(client, "agent_start", adapter="scripted", label="by a model"))["entries"]
            session_id = view["id"]
            await result(client, "agent_prompt", sessionId=session_id, prompt=steps({"say": "Hello"}))
            path = f"/sessions/{session_id}"
            await asyncio.to_thread(until, lambda: daemon.admin.get(path).json["turns"] == 1)
            output = await result(client, "agent_output", sessionId=session_id)
            alive = await result(client, "agent_sessions_list", onlyAlive=True)
            await result(client, "agent_kill", sessionId=session_id)
            return names, session_id, output, alive

    names, session_id, output, alive = run(scene())
    assert names >= SESSION_TOOLS | {"approvals_respond", "bench_rows", "bench_wipe"}
    assert output["entries"][0]["lines"][0]["line"] == "Hello"
    assert session_id in [each["id"] for each in alive["entries"][0]["sessions"]]
    assert daemon.admin.get(f"/sessions/{session_id}").json["status"] == "killed"  # the same registry
    records = [json.loads(line) for _, _, line in read_audit(audit_path(os.getcwd(), str(daemon.agents)))]
    calls = [each for each in records if each["subject"].get("ref") == "agent/sessions/agent_kill"]
    assert {each["actor"]["id"] for each in calls} == {"mcp:admin"}


def test_what_no_rule_allows_waits_for_a_person_who_is_not_the_client(daemon):
    """A client whose token may not approve says yes for its person, and that counts for nothing."""
    client = daemon.token("prompter", "read", "prompt")
    yes = ElicitResult(action="accept", content={"confirm": True})

    async def scene(mode):
        async with connected(client, mode=mode, answer=yes) as connection:
            started = await result(connection, "agent_start", adapter="scripted")
            wiped = await result(connection, "bench_wipe", name="x")
            names = {tool.name for tool in (await connection.list_tools()).tools}
            return started["code"], wiped["code"], "approvals_respond" in names

    for mode in ("legacy", "auto"):
        assert run(scene(mode)) == ("CALL_UNANSWERED", "CALL_UNANSWERED", False)


def test_a_token_that_may_read_reads(daemon):
    client = daemon.token("reader", "read")

    async def scene():
        async with connected(client) as connection:
            tools = {tool.name: tool for tool in (await connection.list_tools()).tools}
            listed = await result(connection, "agent_sessions_list")
            started = await result(connection, "agent_start", adapter="scripted")
            return tools, listed["code"], started["code"]

    tools, listed, started = run(scene())
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert (listed, started) == ("OK", "READ_ONLY_SERVER")


def test_a_session_reaches_itself_and_what_it_started_and_approves_nothing(daemon, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    given = {"adapter": "scripted", "cwd": str(folder)}
    other = daemon.admin("POST", "/sessions/agent", given).json["id"]
    before = set(descendants(daemon.process.pid))
    own = daemon.admin("POST", "/sessions/agent", given).json["id"]
    agent = Http(daemon.url, credential(set(descendants(daemon.process.pid)) - before))

    async def scene():
        async with connected(agent) as connection:
            names = {tool.name for tool in (await connection.list_tools()).tools}
            seen = await result(connection, "agent_sessions_list")
            reached = await result(connection, "agent_output", sessionId=other)
            spawned = await result(connection, "agent_start", adapter="scripted")
            return names, seen["entries"][0]["sessions"], reached["code"], spawned["code"]

    names, seen, reached, spawned = run(scene())
    assert "approvals_respond" not in names
    assert [each["id"] for each in seen] == [own]
    assert reached == "DELEGATION_DENIED"
    assert spawned == "INVALID_AGENT"  # a session names an AGENT.md of the user, and no adapter


def test_a_session_of_the_protocol_belongs_to_the_token_that_opened_it(daemon):
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    }
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    opened = daemon.admin("POST", "/mcp", hello, headers=headers)
    assert opened.status == 200
    session = {**headers, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    other = daemon.token("other", "read", "prompt")
    assert other("POST", "/mcp", listing, headers=session).status == 404
    assert daemon.admin("POST", "/mcp", listing, headers=session).status == 200
    assert daemon.admin("DELETE", "/mcp", headers=session).status == 200


def test_no_token_no_login_and_no_nonsense_reaches_it(daemon):
    browser, headers = daemon.browser()
    assert daemon.anonymous("POST", "/mcp", {}).code == "TOKEN_MISSING"
    assert browser("POST", "/mcp", {}, headers=headers).code == "MCP_NEEDS_TOKEN"
    assert daemon.admin("POST", "/mcp", b"[" * 100_000).code == "MESSAGE_INVALID"
    assert daemon.admin("POST", "/mcp", {}, headers={"Origin": "http://evil.example"}).status == 403
    limited = daemon.token("limited", "read", "prompt", workspace="default")
    assert limited("POST", "/mcp", {}).code == "OTHER_WORKSPACE"


def test_a_rule_denies_whatever_side_it_comes_from_and_unknown_tools_are_errors_of_the_protocol(daemon):
    async def scene():
        async with connected(daemon.admin) as connection:
            denied = await result(connection, "bench_long")
            with pytest.raises(MCPError) as caught:
                await connection.call_tool("nothing", {})
            return denied["code"], caught.value.error.code

    assert run(scene()) == ("CALL_DENIED", INVALID_PARAMS)
    answer = daemon.admin("POST", "/catalog/tool/bench/long/call", {})
    assert answer.code == "CALL_DENIED"


def test_a_client_over_stdio_starts_sessions_that_end_with_the_server(tmp_path):
    world = World(tmp_path)
    world.rules('allow = ["agent/sessions/*"]')
    write_agent(world.home)

    async def scene():
        async with stdio(world, *HERE, "--sessions", mode="legacy") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            started = await result(client, "agent_start", adapter="scripted")
            return names, started["entries"][0]

    names, view = run(scene())
    assert names >= SESSION_TOOLS
    assert "approvals_respond" not in names
    (meta,) = world.home.glob(f"state/agents/*/sessions/{view['id']}/meta.json")
    assert until(lambda: json.loads(meta.read_text())["status"] in ("exited", "killed"))
