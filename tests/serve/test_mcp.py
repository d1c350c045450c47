"""The MCP server against the official client: it lists, calls, cancels and is refused; over stdio and over HTTP."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import INVALID_PARAMS, ElicitResult

from operable.app.shelf import find
from operable.app.trust import Approvals
from operable.gate.audit.chain import read_audit
from operable.gate.audit.place import audit_path
from tests.app.making import made
from tests.app.test_invocation import ended, written
from tests.cli.drive import alive
from tests.requirement import requirement
from tests.serve.world import HERE, forked
from tests.wrap.drive import Made

LIMIT = 200


def run(coroutine, limit=LIMIT):
    async def bounded():
        async with asyncio.timeout(limit):
            return await coroutine

    return asyncio.run(bounded())


@asynccontextmanager
async def connected(world, *words, mode="auto", answer=None, **env):
    """The official client, over stdio."""

    async def elicited(context, params):
        world.asked = params.message
        return answer

    program, *arguments = forked(world.command(*(words or world.here)))
    parameters = StdioServerParameters(
        command=program, args=arguments, env={**world.env, **env}, cwd=world.project
    )
    assert sys.__stderr__ is not None
    transport = stdio_client(parameters, errlog=sys.__stderr__)
    async with Client(
        transport, mode=mode, elicitation_callback=elicited if answer is not None else None
    ) as client:
        yield client


NO = ElicitResult(action="decline")
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@MODES
def test_every_command_is_a_tool_with_a_strict_schema_and_annotations(world, mode):
    async def listed():
        async with connected(world, "--kind", "tool", mode=mode) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = run(listed())
    assert {"bench_rows", "bench_long", "bench_slow", "todo_list", "todo_item_add", "outline_search"} <= set(
        tools
    )
    off = {"bench_wipe", "todo_remove", "todo_item", "todo_item_remove", "outline_delete"}
    assert not off & set(tools)
    rows = tools["bench_rows"]
    assert rows.description
    assert rows.input_schema["additionalProperties"] is False
    assert rows.input_schema["required"] == ["query"]
    assert {"query", "count", "limit", "timeout"} <= set(rows.input_schema["properties"])
    assert "x-cli" not in json.dumps(rows.input_schema)
    assert (rows.annotations.read_only_hint, rows.annotations.destructive_hint) == (True, False)
    assert rows.annotations.idempotent_hint is True
    assert rows.output_schema["required"]


@pytest.mark.parametrize(("need", "hint"), [("scratch", True), ("network", False), ("programs", False)])
def test_a_wrapped_command_that_reaches_further_is_not_annotated_as_read_only(world, tmp_path, need, hint):
    metadata = {"operable": {"parse": {"kind": "jsonl"}, "needs": {need: "a test"}}}
    wrapper = Made(tmp_path, "#!/bin/sh\n", tool={"metadata": metadata})
    env = wrapper.env | {"PATH": f"{wrapper.bin}:{world.env['PATH']}"}

    async def listed():
        async with connected(world, "--kind", "wrap", "--only", "prog", **env) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    annotations = run(listed())["prog_go"].annotations
    assert (annotations.read_only_hint, annotations.idempotent_hint) == (hint, hint)


def test_how_a_command_of_an_application_is_used_is_told(world):
    made(world.project / "apps" / "told", body="## Commands\n\n| `list [--status open\\|done]` | shows |\n")
    Approvals(str(world.home / "state" / "apps" / "approvals.json")).approve(
        find(str(world.project / "apps" / "told"))
    )

    async def listed():
        async with connected(world, "--only", "told") as client:
            return {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}

    tools = run(listed())
    assert tools["told_list"]["arguments"]["description"].endswith(
        "used like this: list [--status open|done]"
    )
    assert tools["told_get"]["arguments"]["description"] == "the words behind the command"


@MODES
def test_calls_give_structured_results_and_structured_errors(world, mode):
    async def called():
        async with connected(world, mode=mode) as client:
            return [
                await client.call_tool(
                    "bench_rows", {"query": "--limit", "count": 2, "tag": ["a", "-b"], "loud": True}
                ),
                await client.call_tool("bench_rows", {"query": "a", "colour": "red"}),
                await client.call_tool("bench_rows", {}),
                await client.call_tool("todo_list", {"arguments": ["x; y", "--all"]}),
                await client.call_tool("todo_get", {"arguments": ["td_9"]}),
            ]

    rows, extra, missing, todo, failed = run(called())
    assert rows.is_error is False
    assert [entry["text"] for entry in rows.structured_content["entries"]] == ["--limit", "--limit"]
    assert json.loads(rows.content[0].text) == rows.structured_content
    assert rows.structured_content["summary"]["count"] == 2
    for refused in (extra, missing):
        assert (refused.is_error, refused.structured_content["code"]) == (True, "INVALID_ARGUMENTS")
    assert todo.structured_content["entries"][0]["words"] == ["list", "x; y", "--all"]
    assert (failed.is_error, failed.structured_content["errors"][0]["code"]) == (True, "NOT_FOUND")


@MODES
def test_a_request_that_cannot_be_meant_is_an_error_of_the_protocol(world, mode):
    async def refused(asking):
        with pytest.raises(MCPError) as caught:
            await asking
        return caught.value.error.code

    async def called():
        async with connected(world, mode=mode) as client:
            return [
                await refused(client.call_tool("nothing", {})),
                await refused(client.list_tools(cursor="200")),
                await refused(client.list_tools(cursor="-1")),
                await refused(client.list_tools(cursor="x")),
                await refused(client.read_resource("operable://results/none")),
            ]

    assert set(run(called())) == {INVALID_PARAMS}


def test_each_tool_says_what_it_gives(world):
    async def listed():
        async with connected(world) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = run(listed())
    rows = tools["bench_rows"].output_schema
    assert rows["$defs"]["row"]["properties"].keys() == {"type", "number", "text"}
    assert "aoi:progress" not in json.dumps(rows)
    assert tools["todo_list"].output_schema is None  # APP.md says nothing of results


def test_three_tools_stand_for_a_large_catalog(world):
    async def called():
        async with connected(world, "--tools", "search", mode="legacy") as client:
            return (
                [tool.name for tool in (await client.list_tools()).tools],
                await client.call_tool("search", {"query": "rows"}),
                await client.call_tool("describe", {"names": ["bench_rows"]}),
                await client.call_tool(
                    "call", {"name": "bench_rows", "arguments": {"query": "x", "count": 1}}
                ),
                await client.call_tool("call", {"name": "bench_rows", "arguments": {"colour": "x"}}),
                await client.call_tool("call", {"name": "bench_wipe", "arguments": {"name": "x"}}),
                await client.call_tool("call", {"name": "call", "arguments": {"name": "bench_rows"}}),
            )

    names, found, said, answered, wrong, off, twice = run(called())
    assert names == ["search", "describe", "call"]
    assert [each["name"] for each in found.structured_content["commands"]] == ["bench_rows", "bench_long"]
    assert said.structured_content["commands"][0]["inputSchema"]["required"] == ["query"]
    assert answered.structured_content["entries"] == [{"type": "row", "number": 0, "text": "x"}]
    codes = [each.structured_content["code"] for each in (wrong, off, twice)]
    assert codes == ["INVALID_ARGUMENTS", "DESTRUCTIVE_DISABLED", "UNKNOWN_TOOL"]
    path = audit_path(os.path.realpath(world.project), str(world.home / "state" / "agents"))
    records = [json.loads(line) for _, _, line in read_audit(path)]
    assert {each["subject"]["ref"] for each in records} == {"tool/bench/rows"}


def test_a_rule_is_about_the_command_whatever_tool_leads_to_it(world):
    world.rules('deny = ["tool/bench/rows"]')

    async def called():
        async with connected(world, "--tools", "search") as client:
            return await client.call_tool("call", {"name": "bench_rows", "arguments": {"query": "x"}})

    assert run(called()).structured_content["code"] == "CALL_DENIED"


def test_commands_are_chosen_by_patterns(world):
    async def listed(*words):
        async with connected(world, *HERE, "--allow-destructive", *words) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert run(listed("--command", "tool/bench/*", "--without", "tool/bench/wipe")) == {
        "bench_rows",
        "bench_long",
        "bench_slow",
    }
    assert run(listed("--command", "app/todo/item/*")) == {"todo_item_add", "todo_item_remove"}


@MODES
def test_progress_is_passed_on(world, mode):
    seen = []

    async def report(progress, total, message):
        seen.append((progress, total, message))

    async def called():
        async with connected(world, mode=mode, BENCH_QUICK="1") as client:
            return await client.call_tool("bench_slow", {}, progress_callback=report)

    assert run(called()).is_error is False
    assert seen == [(1, 4, "on the way"), (2, 4, None)]


SPEAKS = """
meta = {"type": "aoi:meta", "tool": "t", "tool_version": "1", "aoi_version": "0.2", "schema_name": "s", "schema_version": "1.0.0"}
lines = [meta, {"type": "aoi:progress", "done": 1, "total": 2}, {"type": "hit", "id": 1}, {"type": "aoi:warning", "code": "W", "message": "m"}]
if words[0] == "get": lines += [{"type": "aoi:error", "category": "not_found", "code": "NO_ITEM", "message": "no such item"}]
lines += [{"type": "aoi:summary", "ok": words[0] != "get", "count": 1}]
for line in lines: print(json.dumps(line))
sys.exit(1 if words[0] == "get" else 0)
"""


def test_an_application_that_speaks_aoi_is_heard_as_such(world):
    app = made(world.project / "apps" / "speaker", SPEAKS)
    Approvals(str(world.home / "state" / "apps" / "approvals.json")).approve(find(str(app)))
    seen = []

    async def report(progress, total, message):
        seen.append((progress, total, message))

    async def called():
        async with connected(world, "--only", "speaker") as client:
            good = await client.call_tool("speaker_list", {}, progress_callback=report)
            return good, await client.call_tool("speaker_get", {"arguments": ["x"]})

    good, failed = run(called())
    content = good.structured_content
    assert (content["entries"], content["warnings"][0]["code"]) == ([{"type": "hit", "id": 1}], "W")
    assert (content["summary"]["count"], seen) == (1, [(1, 2, None)])
    assert (failed.is_error, failed.structured_content["errors"][0]["code"]) == (True, "NO_ITEM")


AWKWARD = r"""#!{python}
import json, sys
words = sys.argv[1:]
if words[0] == "capabilities":
    below = {"name": "item remove", "destructive": True, "requires_confirm": True}
    print(json.dumps({"commands": [{"name": name, "read_only": True} for name in SCHEMAS] + [below]}))
elif words[0] == "input-schema":
    print(json.dumps(SCHEMAS.get(words[-1])))
elif words[0] != "schema":
    print('{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.2","schema_name":"a.b","schema_version":"1.0.0","command":"x"}')
    print(json.dumps({"type": "row", "words": words}))
    print('{"type":"aoi:summary","ok":true,"count":1,"warning_count":0,"error_count":0,"partial":false,"truncated":false,"next_cursor":null,"elapsed_ms":1}')
"""
SCHEMAS = {
    "item": None,
    "type": {"properties": {"a": {"type": "foo"}}},
    "required": {"properties": {"a": {"type": "string"}}, "required": [["a"], "a"]},
    "shared": {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}},
    "outside": {"properties": {"a": {"$ref": "file:///etc/hostname"}}},
}


@pytest.fixture
def awkward(world):
    """With a tool that describes its input in every wrong way."""
    program = AWKWARD.replace("{python}", sys.executable).replace(
        "words =", f"SCHEMAS = {SCHEMAS!r}\nwords ="
    )
    path = world.home / "config" / "tools" / "awkward"
    path.write_text(program)
    path.chmod(0o755)
    return world


def test_a_schema_that_is_none_hides_no_other_tool(awkward):
    async def called():
        async with connected(awkward, *HERE, "--only", "awkward") as client:
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            given = {"awkward_required": {"a": "x"}, "awkward_shared": {"a": "x"}}
            free = {f"awkward_{name}": {"arguments": ["x"]} for name in ("type", "outside")}
            results = {name: await client.call_tool(name, given[name]) for name in given}
            results |= {name: await client.call_tool(name, free[name]) for name in free}
            wrong = await client.call_tool("awkward_shared", {"a": 5})
            return tools, results, wrong

    tools, results, wrong = run(called())
    assert {"bench_rows", "todo_list", *results} <= set(tools)
    assert tools["awkward_required"]["required"] == ["a"]
    words = {name: result.structured_content["entries"][0]["words"] for name, result in results.items()}
    assert words == {
        "awkward_required": ["required", "--a=x", "--output=jsonl"],
        "awkward_shared": ["shared", "--a=x", "--output=jsonl"],
        "awkward_type": ["type", "x", "--output=jsonl"],
        "awkward_outside": ["outside", "x", "--output=jsonl"],
    }
    assert wrong.structured_content["code"] == "INVALID_ARGUMENTS"


def test_free_words_do_not_lead_to_a_guarded_command_below(awkward):
    awkward.rules("ask_timeout = 0.2")

    async def called(*words):
        async with connected(awkward, "--only", "awkward", *words) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return tools, await client.call_tool("awkward_item", {"arguments": ["remove", "--confirm"]})

    tools, result = run(called())
    assert "awkward_item" not in tools
    assert result.structured_content["code"] == "DESTRUCTIVE_DISABLED"
    tools, result = run(called("--allow-destructive"))
    hints = tools["awkward_item"].annotations
    assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
    assert result.structured_content["code"] == "CALL_UNANSWERED"


LIAR = AWKWARD.replace(
    'elif words[0] != "schema":',
    """elif words[0] == "schema":
    print(json.dumps({"$defs": {"row": {"type": "object", "required": ["number"]}}}))
else:""",
).replace('"read_only": True}', '"read_only": True, "event_types": ["row"]}')


def test_a_result_that_is_not_what_its_tool_declares_is_a_failure_that_keeps_it(world):
    path = world.home / "config" / "tools" / "liar"
    path.write_text(
        LIAR.replace("{python}", sys.executable).replace("words =", "SCHEMAS = {'go': None}\nwords =")
    )
    path.chmod(0o755)

    async def called():
        async with connected(world, "--only", "liar") as client:
            return await client.call_tool("liar_go", {})

    result = run(called())
    assert (result.is_error, result.structured_content["code"]) == (True, "RESULT_NOT_AS_DECLARED")
    assert result.structured_content["entries"][0]["type"] == "row"


ODD = """
sys.stdout.write({
    "list": '{"items": ["cut in an emoji \\\\ud83d"]}',
    "get": '{"items": [1e999]}',
    "item": '[' * 300 + ']' * 300,
}[words[0]])
"""


def test_an_answer_that_no_client_could_be_told_does_not_end_the_server(world):
    app = made(
        world.project / "apps" / "odd", ODD, more="metadata: {operable: {lists: {list: items, get: items}}}"
    )
    Approvals(str(world.home / "state" / "apps" / "approvals.json")).approve(find(str(app)))

    async def called():
        async with connected(world, "--only", "odd") as client:
            return [
                (await client.call_tool(f"odd_{name}", {})).structured_content
                for name in ("list", "get", "item_add")
            ]

    text, number, deep = run(called())
    assert (text["ok"], text["entries"]) == (True, ["cut in an emoji \ufffd"])
    assert (number["ok"], number["code"]) == (False, "APP_OUTPUT_NOT_JSON")
    assert (deep["ok"], deep["code"]) == (False, "APP_OUTPUT_NOT_JSON")


@MODES
def test_a_long_result_is_cut_and_the_rest_is_one_resource_away(world, mode):
    async def called():
        async with connected(world, mode=mode) as client:
            result = await client.call_tool("bench_long", {"count": 5000})
            link = result.content[1]
            whole = await client.read_resource(link.uri)
            listed = await client.list_resources()
            return result, link, whole.contents[0].text, [each.uri for each in listed.resources]

    result, link, text, uris = run(called())
    content = result.structured_content
    assert content["truncated"] is True
    assert 0 < len(content["entries"]) < 1000
    assert len(result.content[0].text) < 120_000
    assert (link.type, content["more"], uris) == ("resource_link", link.uri, [link.uri])
    lines = text.splitlines()
    assert len(lines) == 5000
    assert json.loads(lines[-1])["number"] == 4999


@MODES
def test_a_cancelled_call_ends_its_process(world, mode):
    async def cancelled():
        async with connected(world, mode=mode) as client:
            await client.list_tools()
            task = asyncio.create_task(client.call_tool("bench_slow", {}))
            await asyncio.to_thread(written, world.pid)
            assert alive(int(world.pid.read_text()))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gone = await asyncio.to_thread(ended, int(world.pid.read_text()))
            after = await client.call_tool("bench_rows", {"query": "still here"})
            return gone, after.is_error

    assert run(cancelled()) == (True, False)


@requirement("appmd:confirmation:everywhere")
@MODES
def test_what_cannot_be_undone_is_off_unless_enabled(world, mode):
    async def called():
        async with connected(world, mode=mode) as client:
            return [
                await client.call_tool("bench_wipe", {"name": "x", "confirm": True}),
                await client.call_tool("todo_remove", {"arguments": ["x"], "confirm": True}),
            ]

    for result in run(called()):
        assert (result.is_error, result.structured_content["code"]) == (True, "DESTRUCTIVE_DISABLED")
    assert not world.wiped.exists()


@requirement("appmd:confirmation:everywhere")
@MODES
def test_enabled_it_needs_a_yes_for_each_call(world, mode):
    world.rules("ask_timeout = 0.2")

    async def called():
        async with connected(world, *HERE, "--allow-destructive", mode=mode) as client:
            return [
                await client.call_tool("bench_wipe", {"name": "x"}),
                await client.call_tool("bench_wipe", {"name": "x", "confirm": True}),
                await client.call_tool("todo_remove", {"arguments": ["x"], "confirm": True}),
                await client.call_tool("todo_item", {"arguments": ["--force", "remove", "x"]}),
                await client.call_tool("todo_item", {"arguments": ["rem", "x"], "confirm": True}),
                await client.call_tool("bench_wipe", {"name": "x", "dry-run": True}),
            ]

    *refused, dry = run(called())
    for result in refused:
        assert (result.is_error, result.structured_content["code"]) == (True, "CALL_UNANSWERED")
    assert dry.structured_content["entries"][0]["type"] == "aoi:plan"
    assert not world.wiped.exists()
    assert not (world.app / "app" / "state").exists()


@MODES
def test_a_rule_of_the_user_is_a_yes_and_only_for_what_it_names(world, mode):
    world.rules('ask_timeout = 0.2\nallow = ["tool/bench/wipe", "app/todo/remove"]')

    async def called():
        async with connected(world, *HERE, "--allow-destructive", mode=mode) as client:
            return [
                await client.call_tool("bench_wipe", {"name": "yes"}),
                await client.call_tool("todo_remove", {"arguments": ["x"]}),
                await client.call_tool("todo_item", {"arguments": ["remove", "x"]}),
            ]

    wiped, removed, other = run(called())
    assert (wiped.is_error, world.wiped.read_text()) == (False, "yes")
    assert removed.is_error is False
    assert other.structured_content["code"] == "CALL_UNANSWERED"
    assert (world.app / "app" / "state" / "calls").read_text() == "remove "


def test_an_answer_of_the_client_counts_once(world):
    """The model of a client of the new protocol sends an old answer again, with the seal that it came with."""
    seen = {}

    async def called():
        async with connected(world, *HERE, "--allow-destructive", answer=NO) as client:
            session = client.session
            asking = await session.call_tool("bench_wipe", {"name": "x"}, allow_input_required=True)
            seal = asking.request_state
            yes = {"confirm": ElicitResult(action="accept", content={"confirm": True})}
            for arguments in ({"name": "other"}, {"name": "x"}):
                result = await session.call_tool(
                    "bench_wipe", arguments, input_responses=yes, request_state=seal
                )
                seen[arguments["name"]] = result.structured_content["code"]

    run(called())
    assert seen == {"other": "CALL_DENIED", "x": "CALL_DENIED"}  # the seal was used up by the first
    assert not world.wiped.exists()


def test_a_server_that_only_reads_offers_nothing_else(world):
    async def called():
        async with connected(world, *HERE, "--allow-destructive", "--read-only") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return (
                tools,
                await client.call_tool("todo_list", {}),
                await client.call_tool("bench_rows", {"query": "x"}),
            )

    tools, changing, reading = run(called())
    assert tools == ["bench_rows", "bench_long", "bench_slow"]
    assert changing.structured_content["code"] == "READ_ONLY_SERVER"
    assert reading.is_error is False


@MODES
@pytest.mark.parametrize(
    "answer, allowed",
    [
        (ElicitResult(action="accept", content={"confirm": True}), True),
        (ElicitResult(action="accept", content={"confirm": False}), False),
        (ElicitResult(action="decline"), False),
        (ElicitResult(action="cancel"), False),
    ],
    ids=["yes", "no", "decline", "cancel"],
)
def test_the_person_at_the_client_is_asked(world, mode, answer, allowed):
    async def called():
        async with connected(world, *HERE, "--allow-destructive", mode=mode, answer=answer) as client:
            return await client.call_tool("bench_wipe", {"name": "x"})

    result = run(called())
    assert result.is_error is not allowed
    assert world.wiped.exists() is allowed
    assert "bench wipe" in world.asked


@requirement("appmd:confirmation:everywhere")
@MODES
def test_where_the_person_can_be_asked_the_model_cannot_say_yes_for_it(world, mode):
    no = ElicitResult(action="decline")

    async def called():
        async with connected(world, *HERE, "--allow-destructive", mode=mode, answer=no) as client:
            return [
                await client.call_tool("bench_wipe", {"name": "x", "confirm": True}),
                await client.call_tool("todo_remove", {"arguments": ["x"], "confirm": True}),
            ]

    for result in run(called()):
        assert (result.is_error, result.structured_content["code"]) == (True, "CALL_DENIED")
    assert not world.wiped.exists()
    assert not (world.app / "app" / "state").exists()


@pytest.mark.parametrize(
    "able, reply, code",
    [
        ({}, {"error": {"code": -32601, "message": "Method not found"}}, "CALL_DENIED"),
        ({}, {"result": {"nonsense": 1}}, "CALL_DENIED"),
        ({}, {"result": {"action": "accept"}}, "CALL_DENIED"),
        ({}, {"result": {"action": "accept", "content": {"confirm": "true"}}}, "CALL_DENIED"),
        ({"form": {}, "url": {}}, {"result": {"action": "cancel"}}, "CALL_DENIED"),
        ({"url": {}}, None, "CALL_UNANSWERED"),
        (None, None, "CALL_UNANSWERED"),
    ],
    ids=["error", "nonsense", "nothing", "text", "cancel", "pages-only", "unable"],
)
def test_whatever_else_a_client_answers_is_no_yes(world, able, reply, code):
    world.rules("ask_timeout = 0.2")
    process = subprocess.Popen(
        forked(world.command("--only", "bench", "--allow-destructive")),
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None

        def say(**message):
            print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)

        capabilities = {} if able is None else {"elicitation": able}
        info = {"name": "t", "version": "1"}
        about = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        say(id=1, method="initialize", params=about)
        say(method="notifications/initialized")
        say(id=2, method="tools/call", params={"name": "bench_wipe", "arguments": {"name": "x"}})
        for heard in map(json.loads, process.stdout):
            if heard.get("method") == "elicitation/create":
                assert reply is not None
                say(id=heard["id"], **reply)
            elif heard["id"] == 2:
                break
        assert heard["result"]["structuredContent"]["code"] == code
    finally:
        process.kill()
        process.communicate()
    assert not world.wiped.exists()


def test_the_person_sees_all_that_is_asked_for(world):
    yes = ElicitResult(action="accept", content={"confirm": True})
    hidden = "a\u202eb" + "x" * 3000 + "/etc"

    async def called():
        async with connected(world, *HERE, "--allow-destructive", answer=yes) as client:
            world.asked = ""
            wrong = await client.call_tool("bench_wipe", {"name": 5})
            unasked = world.asked
            await client.call_tool("bench_wipe", {"name": hidden})
            return wrong, unasked

    wrong, unasked = run(called())
    assert (wrong.structured_content["code"], unasked) == ("INVALID_ARGUMENTS", "")
    assert "a\\u202eb" in world.asked
    assert "more characters)" in world.asked


def test_a_package_that_changes_while_it_is_served_is_refused(world):
    async def called():
        async with connected(world) as client:
            before = await client.call_tool("todo_list", {})
            (world.app / "app" / "cli.py").write_text("print(1)")
            return before, await client.call_tool("todo_list", {})

    before, after = run(called())
    assert before.is_error is False
    assert after.structured_content["code"] == "APP_NOT_APPROVED"


@requirement("appmd:confirmation:everywhere")
def test_what_a_package_says_now_counts_and_not_what_it_said_when_the_server_began(world):
    manifest = world.app / "APP.md"

    async def called():
        async with connected(world) as client:
            before = await client.call_tool("todo_list", {})
            manifest.write_text(manifest.read_text().replace("Required: [", "Required: [list, "))
            Approvals(str(world.home / "state" / "apps" / "approvals.json")).approve(find(str(world.app)))
            return before, await client.call_tool("todo_list", {})

    before, after = run(called())
    assert before.is_error is False
    assert after.structured_content["code"] == "CONFIRMATION_REQUIRED"


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(world, stop):
    process = subprocess.Popen(
        world.command("--only", "todo"),
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "operable"
        process.send_signal(stop)
        assert process.wait(200) != 0
    finally:
        process.kill()
        process.communicate()


def test_a_signal_while_the_http_server_starts_leaves_no_traceback(world):
    # From the address on it imports and starts for a second: a stop in an import is raised later, in the event loop.
    for wait in (0.0, 0.1, 0.2, 0.3, 0.4, 0.6):
        process = subprocess.Popen(
            world.command("--only", "todo", "--http"),
            env=world.env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            assert "http://127.0.0.1:" in process.stderr.readline()
            time.sleep(wait)
            process.send_signal(signal.SIGTERM)
            _, rest = process.communicate(timeout=60)
            assert "Traceback" not in rest
        finally:
            process.kill()
            process.communicate()


def test_a_request_that_cannot_be_read_is_answered_and_the_rest_of_a_long_line_is_not_a_line(world):
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    start = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}).encode()
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}'
    lines = [
        start,
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        call % (2, b'{"name":"todo_list","arguments":{"text":"\\ud800"}}'),
        call % (3, b"[" * 5000 + b"]" * 5000),
        call % (4, b'{"name":"todo_list","arguments":{"n":NaN}}'),
        b"[" + call % (5, b"{}") + b"]",
        call % (6, b'{"name":"' + b"x" * (16 * 1024 * 1024) + b'"}')
        + b" " * (16 * 1024 * 1024 - 1)
        + call % (7, b"{}"),
        b"{",
        b'{"jsonrpc":"2.0","id":8,"method":"ping"}',
    ]
    process = subprocess.Popen(
        world.command("--only", "todo"),
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        process.stdin.flush()
        answers: dict[int, Any] = {}
        while 8 not in answers or len(answers) < 7:
            answer = json.loads(process.stdout.readline())
            answers[answer["id"]] = answer
    finally:
        process.kill()
        process.communicate()
    assert sorted(answers) == [1, 2, 3, 4, 5, 6, 8]
    assert all(answers[number]["error"]["code"] in (-32700, -32600) for number in (2, 3, 5, 6))
    assert answers[6]["error"]["message"] == "The request cannot be read: too_long"
    assert "result" in answers[8]


@pytest.mark.parametrize("left", ["stdout", "stdin"])
def test_a_client_that_neither_reads_nor_writes_does_not_keep_the_server(world, left):
    """`left` is the end that it closes, with an answer under way that does not fit into a pipe."""
    process = subprocess.Popen(
        world.command("--only", "bench"),
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        calls: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": about},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "bench_long", "arguments": {"count": 3000}}},
        ]
        for call in calls:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **call}).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.read(1)  # the second answer is under way
        getattr(process, left).close()
        assert process.wait(200) is not None
    finally:
        process.kill()
        process.wait(200)
        for end in (process.stdin, process.stdout):
            if end is not None:
                end.close()


def test_the_end_of_its_input_ends_the_server(world):
    done = subprocess.run(
        world.command(), env=world.env, input=b"not json\n\n", capture_output=True, timeout=200, check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [("sleeping", "NOT_SERVABLE", "unapproved"), ("no-such-thing", "UNKNOWN_OPERABLE", "no-such-thing")],
)
def test_what_is_there_and_cannot_be_served_is_told_from_what_is_not_there(world, name, code, says):
    made(world.project / "apps" / "sleeping", slug="sleeping")

    done = subprocess.run(
        [*world.command("--output", "jsonl", "--only", name)],
        env=world.env,
        cwd=world.project,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )

    (error,) = [event for event in map(json.loads, done.stdout.splitlines()) if event["type"] == "aoi:error"]
    assert error["code"] == code
    assert says in error["message"]


def test_a_machine_is_told_what_would_be_served(world):
    done = subprocess.run(
        [*world.command("--output", "jsonl", "--only", "bench")],
        env=world.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=200,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["name"] for each in events[1:-1]] == ["bench_rows", "bench_long", "bench_slow"]
    assert (events[0]["type"], events[-1]["ok"]) == ("aoi:meta", True)


# --- HTTP


@contextmanager
def served(world, *words):
    """A server of HTTP: its address, its token, its process."""
    process = subprocess.Popen(
        forked(world.command("--http", *(words or world.here))),
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = re.search(r"(http://127\.0\.0\.\d:\d+/mcp) \(bearer token: (.+)\)", process.stderr.readline())
        assert found is not None
        with open(found[2], encoding="ascii") as file:
            yield found[1], file.read().strip(), process
    finally:
        process.terminate()
        try:
            process.wait(200)
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def http(world):
    with served(world) as found:
        yield found


def test_over_http_the_token_is_needed_and_then_it_is_the_same(world, http):
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    url, token, _ = http
    for header in ({}, {"Authorization": "Bearer wrong"}):
        request = urllib.request.Request(
            url, data=b"{}", headers={"Content-Type": "application/json", **header}
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=200)
        caught.value.close()
        assert caught.value.code == 401

    async def called():
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=200) as web,
            Client(streamable_http_client(url, http_client=web)) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool("bench_rows", {"query": "a"})
            refused = await client.call_tool("todo_remove", {"arguments": ["x"], "confirm": True})
            task = asyncio.create_task(client.call_tool("bench_slow", {}))
            await asyncio.to_thread(written, world.pid)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gone = await asyncio.to_thread(ended, int(world.pid.read_text()))
            return tools, result, refused, gone

    tools, result, refused, gone = run(called())
    assert "todo_list" in tools
    assert len(result.structured_content["entries"]) == 3
    assert refused.structured_content["code"] == "DESTRUCTIVE_DISABLED"
    assert gone


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def asked(url, **headers):
    """The status of one request."""
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, data=PING, headers=given)
    try:
        with urllib.request.urlopen(request, timeout=200) as answer:
            return answer.status
    except urllib.error.HTTPError as problem:
        problem.close()
        return problem.code


def test_a_web_page_in_a_browser_cannot_reach_it_even_with_the_token(http):
    """A page whose name was made to mean this machine (DNS rebinding) sends its own name as host, and its origin."""
    url, token, _ = http
    right = {"Authorization": f"Bearer {token}"}
    assert asked(url, **right) < 420
    assert asked(url, Host="evil.example", **right) == 421
    assert asked(url, Host="127.0.0.1.evil.example:80", **right) == 421
    assert asked(url, Origin="http://evil.example", **right) == 403
    assert asked(url, Origin="null", **right) == 403
    assert asked(url, Host="evil.example") == 401  # who has no token learns nothing else


def test_another_loopback_address_is_guarded_alike(world):
    with served(world, *HERE, "--host", "127.0.0.2") as (url, token, _):
        right = {"Authorization": f"Bearer {token}"}
        assert asked(url, **right) < 420
        assert asked(url, Host="evil.example", **right) == 421
        assert asked(url, Origin="http://evil.example", **right) == 403


def test_the_token_is_nobody_elses_and_stays_the_same(world, http):
    _, token, _ = http
    (path,) = world.home.rglob("mcp-token")
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(token) >= 32
    with served(world) as (_, again, __):
        assert again == token


def test_over_http_progress_questions_and_long_results_are_the_same(world):
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    seen = []

    async def report(progress, total, message):
        seen.append((progress, total, message))

    async def elicited(context, params):
        world.asked = params.message
        return ElicitResult(action="accept", content={"confirm": True})

    async def called(url, token):
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=200) as web,
            Client(streamable_http_client(url, http_client=web), elicitation_callback=elicited) as client,
        ):
            quick = await client.call_tool("bench_slow", {}, progress_callback=report)
            wiped = await client.call_tool("bench_wipe", {"name": "x"})
            long: Any = await client.call_tool("bench_long", {"count": 5000})
            whole: Any = await client.read_resource(long.structured_content["more"])
            return quick, wiped, long, whole.contents[0].text

    world.env["BENCH_QUICK"] = "1"
    with served(world, *HERE, "--allow-destructive") as (url, token, _):
        quick, wiped, long, text = run(called(url, token))
    assert (quick.is_error, seen) == (False, [(1, 4, "on the way"), (2, 4, None)])
    assert (wiped.is_error, world.wiped.read_text()) == (False, "x")
    assert "bench wipe" in world.asked
    assert long.structured_content["truncated"] is True
    assert len(text.splitlines()) == 5000


def test_another_address_than_loopback_is_refused(world):
    done = subprocess.run(
        world.command("--http", "--host", "0.0.0.0"),
        env=world.env,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 78
    assert b"other machines" in done.stderr
