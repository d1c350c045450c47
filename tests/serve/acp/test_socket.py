"""`/acp/NAME` of the daemon: an agent for an editor over a WebSocket, for a token, with the gate in between."""

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from typing import Any

import acp
import pytest
from acp import RequestError

from tests.agent.acp_editor import PATIENCE, run, say
from tests.host.scene import steps
from tests.serve.acp.socket_client import RefusedError, editing, socket_at
from tests.serve.daemon import Client, serving, until, write_agent
from tests.tool.drive import LIMIT

RUN = {"call": "Bash", "args": {"command": "git push"}, "kind": "execute", "ask": True}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_agent(home)
    with serving(home) as started:
        yield started


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return str(folder)


async def opened(connection, work, **options):
    made = await asyncio.wait_for(connection.new_session(cwd=work, **options), PATIENCE)
    return made.session_id


def test_an_editor_prompts_is_asked_and_the_record_names_its_token(daemon, work):
    laptop = daemon.token("laptop", "read", "prompt", "approve")

    async def scene():
        async with editing(laptop) as (editor, connection):
            session_id = await opened(connection, work)
            await say(connection, session_id, steps({**RUN, "result": "pushed"}, {"say": "Hello"}))
            return editor, session_id, daemon.admin.get(f"/sessions/{session_id}").json

    editor, session_id, seen = run(scene())
    ((call, _),) = editor.asked
    assert (call.raw_input, editor.text(session_id)) == ({"command": "git push"}, "Hello")
    assert (seen["state"], seen["cwd"]) == ("idle", work)
    (slug,) = [
        each["slug"]
        for each in daemon.admin.get("/audit/workspaces").json["workspaces"]
        if each["slug"].startswith("work-")
    ]
    records = json.dumps(daemon.admin.get(f"/audit?workspace={slug}").json)
    assert "the person at laptop" in records  # and not zed, which is what the editor calls itself
    until(lambda: daemon.admin.get(f"/sessions/{session_id}").json["state"] == "ended")


def test_a_turn_is_cancelled_and_a_lost_editor_ends_its_sessions(daemon, work):
    async def scene():
        async with editing(daemon.admin) as (editor, connection):
            session_id = await opened(connection, work)
            turn = asyncio.create_task(say(connection, session_id, steps({"say": "you"}, {"hang": True})))
            await editor.until(lambda each: each.text(session_id) == "you")
            await connection.cancel(session_id=session_id)
            answer = await asyncio.wait_for(turn, PATIENCE)
            asyncio.create_task(say(connection, session_id, steps({"say": "!"}, {"hang": True})))  # noqa: RUF006
            await editor.until(lambda each: each.text(session_id) == "you!")
            return answer.stop_reason, session_id

    reason, session_id = run(scene())
    assert reason == "cancelled"
    until(lambda: daemon.admin.get(f"/sessions/{session_id}").json["status"] != "running")


def test_without_the_scope_approve_a_question_waits_in_the_inbox_and_not_in_the_editor(daemon, work):
    agent = daemon.token("no-person", "read", "prompt")

    async def scene():
        async with editing(agent) as (editor, connection):
            session_id = await opened(connection, work)
            turn = asyncio.create_task(say(connection, session_id, steps({**RUN, "result": "pushed"})))
            question = await asyncio.to_thread(waiting, session_id)
            answer = {"allowed": True, "digest": question["digest"]}
            await asyncio.to_thread(daemon.admin, "POST", f"/approvals/{question['id']}/answer", answer)
            await asyncio.wait_for(turn, PATIENCE)
            return editor

    def waiting(session_id):
        def found():
            listed = daemon.admin.get("/approvals").json["approvals"]
            return [each for each in listed if each["sourceId"] == session_id]

        until(found)
        return found()[0]

    editor = run(scene())
    assert editor.asked == []
    assert editor.of("tool_call_update")[-1].status == "completed"


def test_only_an_admin_brings_servers_for_they_are_commands_with_our_rights(daemon, work):
    agent = daemon.token("brings", "read", "prompt", "approve")
    server = acp.schema.McpServerStdio(name="x", command="/bin/true", args=[], env=[])

    async def scene():
        async with editing(agent) as (_, connection):
            with pytest.raises(RequestError) as refused:
                await opened(connection, work, mcp_servers=[server])
            return refused.value

    assert run(scene()).data["code"] == "SERVERS_REFUSED"


def test_without_the_scope_read_an_editor_sees_no_session_that_it_did_not_begin(daemon, work):
    agent = daemon.token("writes-only", "prompt")

    async def scene():
        async with editing(daemon.admin) as (_, connection):
            secret = await opened(connection, work)
            await say(connection, secret, steps({"say": "a secret"}))
        async with editing(agent) as (editor, connection):
            own = await opened(connection, work)
            await say(connection, own, steps({"say": "Hello"}))
            codes = []
            for refused in (
                connection.list_sessions(cwd=work),
                connection.load_session(cwd=work, session_id=secret),
            ):
                with pytest.raises(RequestError) as caught:
                    await refused
                data: Any = caught.value.data
                codes.append(data["code"])
            return codes, editor.text(own), editor.text(secret)

    assert run(scene()) == (["SCOPE_MISSING"] * 2, "Hello", "")


def test_who_may_not_have_a_socket_gets_an_answer_of_http(daemon, work):
    daemon.admin("POST", "/workspaces", {"slug": "shop", "path": work})
    login = daemon.admin("POST", "/logins").json["url"].removeprefix(daemon.url)
    cookie = {"cookie": daemon.anonymous.get(login).headers["set-cookie"].partition(";")[0]}
    good = daemon.admin
    cases = [
        (daemon.anonymous, "/acp/scripted", {}, 401, "TOKEN_MISSING"),
        (Client(daemon.url, "opt_wrong"), "/acp/scripted", {}, 401, "TOKEN_UNKNOWN"),
        (daemon.anonymous, "/acp/scripted", cookie, 403, "ACP_NEEDS_TOKEN"),
        (daemon.token("reader", "read"), "/acp/scripted", {}, 403, "SCOPE_MISSING"),
        (daemon.token("of-shop", "prompt", workspace="shop"), "/acp/scripted", {}, 403, "OTHER_WORKSPACE"),
        (good, "/acp/scripted", {"origin": "https://evil.example"}, 403, "ORIGIN_NOT_OURS"),
        (good, "/acp/scripted", {"host": "evil.example"}, 403, "HOST_NOT_OURS"),
        (good, "/acp/nobody", {}, 404, "UNKNOWN_AGENT"),
        (good, "/acp/../sessions", {}, 404, "NO_SUCH_ROUTE"),
        (good, "/sessions", {}, 404, "NO_SUCH_ROUTE"),
    ]

    async def refused(client, path, headers):
        with pytest.raises(RefusedError) as found:
            async with socket_at(client, path, headers):
                pass
        return found.value

    for client, path, headers, status, code in cases:
        answer = run(refused(client, path, headers))
        assert (answer.status, answer.code) == (status, code), (path, headers)
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_is_no_message_is_answered_and_the_next_one_counts(daemon):
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}

    async def scene():
        async with socket_at(daemon.admin) as socket:
            answers = []
            for data in (
                b"\x00\x01",
                "{",
                "[]",
                '"text"',
                "[" * 100_000,
                '{"jsonrpc":"2.0","id":[],"method":"x"}',
            ):
                await socket.say(data)
                said = await socket.receive()
                assert said is not None
                answers.append(said["error"]["code"])
            await socket.send(hello)
            return answers, await socket.receive()

    codes, answer = run(scene())
    assert answer is not None
    assert codes == [-32600, -32700, -32600, -32600, -32700, -32600]
    assert answer["result"]["agentInfo"]["name"] == "operable-scripted"


def test_a_message_beyond_the_limit_ends_the_socket_and_no_other(daemon):
    async def scene():
        async with socket_at(daemon.admin) as large, socket_at(daemon.admin) as other:
            await large.say('"' + "x" * (9 * 1024 * 1024) + '"')
            assert await large.receive() is None
            await other.say("{")
            return large.closed, await other.receive()

    closed, answer = run(scene())
    assert (closed, answer["error"]["code"]) == (1009, -32700)


def test_a_token_has_so_many_sockets_and_streams_at_a_time(daemon):
    client = daemon.token("many", "prompt")

    async def scene():
        async with AsyncExitStack() as stack:
            for _ in range(64):
                await stack.enter_async_context(socket_at(client))
            with pytest.raises(RefusedError) as refused:
                await stack.enter_async_context(socket_at(client))
            return refused.value

    answer = run(scene())
    assert (answer.status, answer.code) == (429, "TOO_MANY_READERS")


def test_the_daemon_ends_with_an_open_socket_and_its_session(tmp_path, work):
    write_agent(tmp_path / "home")
    with serving(tmp_path / "home") as daemon:

        async def scene():
            async with editing(daemon.admin) as (editor, connection):
                session_id = await opened(connection, work)
                asyncio.create_task(say(connection, session_id, steps({"say": "x"}, {"hang": True})))  # noqa: RUF006
                await editor.until(lambda each: each.text(session_id) == "x")
                daemon.process.send_signal(signal.SIGTERM)
                return await asyncio.to_thread(daemon.process.wait, LIMIT)

        assert run(scene()) == 128 + signal.SIGTERM


def test_a_token_that_is_taken_back_ends_its_socket_and_the_turn_in_it(daemon, work):
    lost = daemon.token("lost", "read", "prompt")

    async def scene():
        async with editing(lost) as (editor, connection):
            session_id = await opened(connection, work)
            turn = asyncio.create_task(say(connection, session_id, steps({"say": "you"}, {"hang": True})))
            await editor.until(lambda each: each.text(session_id) == "you")
            await asyncio.to_thread(daemon.admin, "DELETE", "/tokens/lost")
            await asyncio.wait((turn,), timeout=PATIENCE)
            assert turn.done(), "the editor still has its turn"
            turn.exception()
            return session_id

    session_id = run(scene())
    until(lambda: daemon.admin.get(f"/sessions/{session_id}").json["status"] != "running")
