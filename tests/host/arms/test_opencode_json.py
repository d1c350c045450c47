"""`opencode run --format json`: lines as the real program (1.18) prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Message, Noise, Opened
from operable.host.arms.opencode_json import ARM
from operable.wire.events import (
    COMPLETED,
    ERROR,
    MAX_TOKENS,
    REFUSAL,
    AgentError,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.host.arms.driving import feed, mutated, of_type, opened, survives


def part(kind, **fields):
    return {"type": kind, "sessionID": "ses", "part": {"messageID": "m", **fields}}


STEP = part(
    "step_finish",
    reason="stop",
    tokens={"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 3, "write": 4}},
    cost=0.5,
)
REJECTED = part(
    "tool_use",
    tool="bash",
    callID="c1",
    state={
        "status": "error",
        "input": {"command": "ls"},
        "error": "The user rejected permission to use this specific tool call.",
    },
)
READ = part(
    "tool_use",
    tool="read",
    callID="c2",
    state={"status": "completed", "input": {"filePath": "/a"}, "output": "x", "title": "a"},
)
FAILED = {
    "type": "error",
    "sessionID": "ses",
    "error": {"name": "APIError", "data": {"message": "nope", "statusCode": 429, "isRetryable": True}},
}


def talking():
    connection = opened(ARM)
    connection.send(Message("hello"))
    return connection


def test_a_turn_reads_its_message_from_standard_input_and_attaches_files():
    command = ARM.turn_command(Message("hi", files=["/a"]), "ses", {})

    assert (command.arguments, command.stdin) == (("--session", "ses", "--file", "/a"), b"hi")
    assert ARM.turn_command(Message("hi"), None, {}).arguments == ()


def test_a_turn_has_a_session_thoughts_text_and_the_sum_of_its_steps():
    connection = talking()
    happened = feed(
        connection, part("step_start"), part("reasoning", text="hm"), part("text", text="Hello"), STEP, STEP
    )
    happened += connection.eof(0)

    assert isinstance(happened[0], Opened)
    assert happened[0].agent_session_id == "ses"
    assert happened[1:] == [
        Thought("s1", "hm"),
        TextDelta("s1", "Hello", "m"),
        TurnEnd("s1", COMPLETED, "stop", Usage(200, 50, 6, 8, 1.0)),
    ]


def test_a_call_and_its_result_come_together_and_a_rejection_is_a_denial():
    happened = feed(talking(), READ, REJECTED)

    assert happened[1:3] == [
        ToolCall("s1", "c2", "read", {"filePath": "/a"}, "read", "a"),
        ToolResult("s1", "c2", "x"),
    ]
    assert of_type(happened, ToolResult)[1].denied
    assert of_type(happened, ToolCall)[1].kind == "execute"


@pytest.mark.parametrize(
    "stop, reason", [("length", MAX_TOKENS), ("content-filter", REFUSAL), ("tool-calls", COMPLETED)]
)
def test_the_last_step_says_why_the_turn_ended(stop, reason):
    connection = talking()
    feed(connection, part("step_finish", reason=stop))

    assert connection.eof(0)[-1].reason == reason


@pytest.mark.parametrize(
    "name, status, code",
    [
        ("APIError", 429, "rate_limited"),
        ("APIError", 401, "auth_required"),
        ("APIError", 400, "model_error"),
        ("ProviderAuthError", 0, "auth_required"),
    ],
)
def test_an_error_ends_the_turn_with_its_code(name, status, code):
    connection = talking()
    happened = feed(
        connection,
        {"type": "error", "error": {"name": name, "data": {"message": "nope", "statusCode": status}}},
    )
    happened += connection.eof(1)

    assert [event.error.code for event in of_type(happened, AgentError)] == [code]
    assert happened[-1] == TurnEnd("s1", ERROR)


def test_a_bad_exit_without_a_word_is_an_error():
    assert talking().eof(1)[-1] == TurnEnd("s1", ERROR)


def test_lines_that_are_no_messages_are_noise():
    assert [type(event) for event in feed(talking(), b"x", {"x": 1})] == [Noise, Noise]


@given(st.lists(mutated([part("text", text="x"), STEP, READ, REJECTED, FAILED]), max_size=20), st.booleans())
def test_dropped_repeated_reordered_and_mutated_lines_never_break_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)
