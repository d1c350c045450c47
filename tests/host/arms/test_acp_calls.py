"""The ACP arm and tool calls: each is told once, before its result, however the agent reports it."""

import pytest

from operable.host.arm import CallRevised
from operable.wire.events import (
    Notice,
    ToolCall,
    ToolResult,
)
from tests.host.arms.acp_talk import talking
from tests.host.arms.driving import check_order, of_type
from tests.requirement import requirement

# --- tool calls ----------------------------------------------------------------------------------------------------------


@requirement("aip45:events:tool-call")
def test_a_call_that_is_filled_in_while_it_is_pending_is_told_once_and_whole():
    talk = talking()
    happened = talk.update(
        "tool_call", toolCallId="t1", name="Write", title="Preparing…", kind="edit", rawInput={}
    )
    happened += talk.update(
        "tool_call_update", toolCallId="t1", title="Write a.txt", rawInput={"path": "a.txt"}
    )
    happened += talk.update(
        "tool_call_update",
        toolCallId="t1",
        rawInput={"path": "a.txt", "text": "x"},
        locations=[{"path": "/w/a.txt"}],
    )
    assert happened == []

    happened = talk.update("usage_update", used=1, size=2)

    arguments = {"path": "a.txt", "text": "x"}
    assert happened[0] == ToolCall("s1", "t1", "Write", arguments, "edit", "Write a.txt", ("/w/a.txt",))
    done = talk.update("tool_call_update", toolCallId="t1", status="completed", rawOutput={"ok": True})
    assert done == [ToolResult("s1", "t1", {"ok": True})]


@pytest.mark.parametrize("kind", ["tool_call", "tool_call_update"])
def test_a_call_that_runs_is_told_at_once(kind):
    talk = talking()

    (told,) = talk.update(kind, toolCallId="t1", title="ls", kind="execute", status="in_progress")

    assert told == ToolCall("s1", "t1", "ls", {"title": "ls"}, "execute", "ls", unnamed=True)
    assert talk.update("tool_call", toolCallId="t1", title="ls", status="pending") == []


def test_more_output_does_not_announce_a_call_again():
    talk = talking()
    facts = {"toolCallId": "t1", "title": "ls", "kind": "execute", "status": "in_progress"}
    assert len(of_type(talk.update("tool_call", **facts, rawInput={"command": "ls"}), ToolCall)) == 1

    content = [{"type": "content", "content": {"type": "text", "text": "a.txt"}}]
    more = talk.update("tool_call_update", toolCallId="t1", content=content)

    assert of_type(more, CallRevised) == []


def test_a_start_that_shows_something_is_told_at_once():
    content = [{"type": "content", "content": {"type": "text", "text": "$ sleep 60"}}]

    (told,) = talking().update(
        "tool_call", toolCallId="t1", title="terminal: sleep 60", kind="execute", content=content
    )

    assert told.arguments == {"title": "terminal: sleep 60", "text": "$ sleep 60"}


def test_a_call_that_is_told_only_by_its_end_is_told_before_it():
    happened = talking().update(
        "tool_call_update",
        toolCallId="t1",
        title="Read",
        kind="read",
        status="failed",
        content=[{"type": "content", "content": {"type": "text", "text": "no such file"}}],
    )

    assert [type(event) for event in happened] == [ToolCall, ToolResult]
    assert happened[1] == ToolResult("s1", "t1", "no such file", True)


@requirement("aip45:events:tool-result")
def test_calls_without_an_end_are_closed_with_the_turn():
    talk = talking()
    talk.update("tool_call", toolCallId="t1", title="edit", rawInput={"a": 1})
    talk.update("tool_call", toolCallId="t2", title="run", status="in_progress")

    happened = talk.stop()

    check_order(
        [
            ToolCall("s1", "t1", "edit"),
            ToolCall("s1", "t2", "run"),
            *of_type(happened, ToolResult),
            happened[-1],
        ],
        1,
    )
    assert all(result.is_error for result in of_type(happened, ToolResult))


def test_an_id_that_is_used_again_in_another_turn_is_another_call():
    talk = talking()
    talk.update("tool_call", toolCallId="t1", title="a", status="completed")
    assert talk.update("tool_call", toolCallId="t1", title="a", status="pending") == []  # an echo
    talk.stop()
    talk.send()

    (told,) = talk.update("tool_call", toolCallId="t1", title="a", status="in_progress")
    (done,) = talk.update("tool_call_update", toolCallId="t1", status="completed")

    assert told.tool_call_id == done.tool_call_id == "t1#2"


def test_output_of_a_running_call_is_noticed():
    talk = talking()
    talk.update("tool_call", toolCallId="t1", title="make", status="in_progress")

    shown = talk.update(
        "tool_call_update",
        toolCallId="t1",
        content=[{"type": "content", "content": {"type": "text", "text": "50 %"}}],
    )

    assert shown == [Notice("tool_progress", "50 %", "s1", {"toolCallId": "t1"})]


@pytest.mark.parametrize(
    "fields, quirks, name, unnamed",
    [
        ({"name": "Bash", "title": "ls"}, {}, "Bash", False),
        (
            {"title": "shell · ls", "_meta": {"goose": {"toolCall": {"toolName": "shell"}}}},
            {},
            "shell",
            False,
        ),
        ({"title": "ls", "_meta": {"toolName": 3}}, {}, "ls", True),
        ({"title": "ls"}, {"tool_name_from_id": "__"}, "run_shell", False),
        ({"title": "terminal: ls"}, {"tool_name_from_title": ": "}, "terminal", False),
        ({"title": "ls"}, {"tool_name_from_title": ": "}, "ls", False),
        ({"title": "bash"}, {"tool_name_from_title": True}, "bash", False),
        ({"title": "a: b"}, {}, "a: b", True),
        ({}, {}, "execute", True),
        ({}, {"tool_name_from_title": True}, "execute", True),
    ],
)
def test_a_tool_is_named_as_well_as_the_agent_says(fields, quirks, name, unnamed):
    talk = talking(quirks=quirks)

    (told,) = talk.update(
        "tool_call", toolCallId="run_shell__1", kind="execute", status="in_progress", **fields
    )

    assert (told.tool_name, told.unnamed) == (name, unnamed)


def _text(text):
    return [{"type": "content", "content": {"type": "text", "text": text}}]


@pytest.mark.parametrize(
    "quirks, arguments",
    [
        ({"tool_arguments_from_text": True}, {"command": "touch x"}),
        ({}, {"title": "Bash", "text": "Requesting approval to Running: ls"}),
    ],
)
def test_arguments_that_are_written_as_text_are_arguments_where_the_manifest_says_so(quirks, arguments):
    talk = talking(quirks=quirks)
    talk.update("tool_call", toolCallId="t1", title="Bash", kind="execute", status="pending")
    for text in ('{"comm', '{"command": "touch x"}'):
        talk.update("tool_call_update", toolCallId="t1", content=_text(text))

    call = {"toolCallId": "t1", "title": "Bash", "content": _text("Requesting approval to Running: ls")}
    ask = talk.ask(call, request_id=1)[-1]

    assert ask.arguments == arguments


def test_the_files_of_diffs_are_places_of_the_call_also_where_its_arguments_name_others():
    diff = {"type": "diff", "path": "/w/b", "oldText": None, "newText": "x"}
    talk = talking()

    (told,) = talk.update(
        "tool_call",
        toolCallId="t1",
        kind="edit",
        status="in_progress",
        rawInput={"path": "/w/a"},
        locations=[{"path": "/w/c"}],
        content=[diff],
    )

    assert told.locations == ("/w/c", "/w/b")


def test_an_unknown_kind_of_tool_is_other():
    (told,) = talking().update("tool_call", toolCallId="t1", title="x", kind="teleport", status="in_progress")

    assert told.kind == "other"
