"""`codex exec --json`: lines as the real binary (0.166) prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Message, Noise, Opened
from operable.host.arms.codex_exec_json import ARM
from operable.kernel.errors import Fail
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    AgentError,
    AgentPlan,
    Notice,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.host.arms.driving import feed, mutated, of_type, opened, survives

STARTED = {"type": "thread.started", "thread_id": "th"}
USAGE = {
    "type": "turn.completed",
    "usage": {
        "input_tokens": 150,
        "cached_input_tokens": 50,
        "cache_write_input_tokens": 5,
        "output_tokens": 20,
    },
}
COMMAND = {
    "id": "i2",
    "type": "command_execution",
    "command": "echo hi",
    "aggregated_output": "",
    "exit_code": None,
    "status": "in_progress",
}


def done(**fields):
    return {"type": "item.completed", "item": {"id": "i1", **fields}}


def talking():
    connection = opened(ARM)
    connection.send(Message("hello"))
    return connection


def test_a_turn_reads_its_message_from_standard_input():
    first = ARM.turn_command(Message("-say", files=["/a"]), None, {})
    later = ARM.turn_command(Message("more"), "th", {})

    assert (first.arguments, first.stdin) == (("-",), b"-say\n\n[Attached files]\n/a")
    assert (later.arguments, later.stdin) == (("resume", "th", "-"), b"more")


@pytest.mark.parametrize(
    "message, resume", [(Message("x", images=[("image/png", "eA==")]), None), (Message("x"), "--config=x")]
)
def test_what_codex_cannot_take_is_refused(message, resume):
    with pytest.raises(Fail):
        ARM.turn_command(message, resume, {})


def test_a_turn_has_a_thread_thoughts_text_and_usage():
    connection = talking()
    happened = feed(
        connection,
        STARTED,
        {"type": "turn.started"},
        done(type="reasoning", text="hm"),
        done(type="agent_message", text="Hello"),
        USAGE,
    )
    happened += connection.eof(0)

    assert isinstance(happened[0], Opened)
    assert happened[0].agent_session_id == "th"
    assert happened[1:] == [
        Thought("s1", "hm"),
        TextDelta("s1", "Hello", "i1"),
        TurnEnd("s1", COMPLETED, usage=Usage(100, 20, 50, 5)),
    ]


def test_usage_is_told_per_turn_and_not_at_all_where_it_is_mixed_with_what_was_before():
    connection, resumed = talking(), opened(ARM, resume="th")
    resumed.send(Message("hello"))
    told = []
    for one in (connection, resumed):
        feed(one, USAGE)
        told += [end.usage for end in of_type(one.eof(0), TurnEnd)]
        one.send(Message("again"))
        feed(
            one,
            {
                "type": "turn.completed",
                "usage": {"input_tokens": 300, "cached_input_tokens": 50, "output_tokens": 50},
            },
        )
        told += [end.usage for end in of_type(one.eof(0), TurnEnd)]

    assert told == [Usage(100, 20, 50, 5), Usage(150, 30), None, Usage(150, 30)]


def test_a_command_is_a_call_and_its_result():
    happened = feed(
        talking(),
        {"type": "item.started", "item": COMMAND},
        {
            "type": "item.completed",
            "item": {**COMMAND, "aggregated_output": "hi\n", "exit_code": 0, "status": "completed"},
        },
    )

    assert happened == [
        ToolCall("s1", "i2", "shell", {"command": "echo hi"}, "execute", "echo hi"),
        ToolResult("s1", "i2", "hi\n"),
    ]


def test_patches_calls_of_servers_and_plans_are_understood():
    happened = feed(
        talking(),
        {
            "type": "item.completed",
            "item": {
                "id": "p",
                "type": "file_change",
                "changes": [{"path": "/a", "kind": "add"}],
                "status": "completed",
            },
        },
        {
            "type": "item.completed",
            "item": {
                "id": "m",
                "type": "mcp_tool_call",
                "server": "s",
                "tool": "t",
                "status": "failed",
                "error": {"message": "no"},
            },
        },
        {
            "type": "item.updated",
            "item": {
                "id": "t",
                "type": "todo_list",
                "items": [{"text": "a", "completed": True}, {"text": "b", "completed": False}],
            },
        },
    )

    assert [call.tool_name for call in of_type(happened, ToolCall)] == ["apply_patch", "mcp__s__t"]
    assert [result.is_error for result in of_type(happened, ToolResult)] == [False, True]
    (plan,) = of_type(happened, AgentPlan)
    assert [(entry.content, entry.status) for entry in plan.entries] == [("a", "completed"), ("b", "pending")]


def test_a_failed_turn_says_why_once_and_retries_are_notices():
    connection = talking()
    happened = feed(
        connection,
        done(type="error", message="Model metadata not found."),
        {"type": "error", "message": "Reconnecting... 1/2 (429)"},
        {"type": "error", "message": "exceeded retry limit"},
        {"type": "turn.failed", "error": {"message": "exceeded retry limit"}},
    )
    happened += connection.eof(1)

    assert [notice.code for notice in of_type(happened, Notice)] == ["warning", "retry"]
    assert [event.error.message for event in of_type(happened, AgentError)] == ["exceeded retry limit"]
    assert happened[-1] == TurnEnd("s1", ERROR)


def test_a_bare_end_is_an_error_and_after_a_cancel_the_cancel():
    bare, cancelled = talking(), talking()
    cancelled.cancel()

    assert bare.eof(1)[-1] == TurnEnd("s1", ERROR)
    assert cancelled.eof(1) == [TurnEnd("s1", CANCELLED)]


def test_lines_that_are_no_messages_are_noise():
    assert [type(event) for event in feed(talking(), b"WARNING: x", {"x": 1}, {"type": "new.thing"})] == [
        Noise,
        Noise,
    ]


LINES = [
    STARTED,
    USAGE,
    {"type": "item.started", "item": COMMAND},
    done(type="agent_message", text="x"),
    done(**{**COMMAND, "id": "i2"}),
    {"type": "turn.failed", "error": {"message": "x"}},
]


@given(st.lists(mutated(LINES), max_size=20), st.booleans())
def test_dropped_repeated_reordered_and_mutated_lines_never_break_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)
