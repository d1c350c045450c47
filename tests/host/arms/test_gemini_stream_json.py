"""`gemini --output-format stream-json`: lines as the real program (0.61) prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Message, Noise, Opened
from operable.host.arms.gemini_stream_json import ARM
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    MAX_TURNS,
    AgentError,
    Notice,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.host.arms.driving import feed, mutated, of_type, opened, survives

INIT = {"type": "init", "session_id": "g1", "model": "gemini-2.5-flash"}
RESULT = {
    "type": "result",
    "status": "success",
    "stats": {"input_tokens": 100, "output_tokens": 20, "cached": 30, "input": 70},
}
FAILED = {
    "type": "result",
    "status": "error",
    "error": {"type": "unknown", "message": "[API Error: nope]"},
    "stats": {},
}
CALL = {"type": "tool_use", "tool_name": "write_file", "tool_id": "w1", "parameters": {"file_path": "/a"}}


def talking():
    connection = opened(ARM)
    connection.send(Message("hello"))
    return connection


def said(text, **fields):
    return {"type": "message", "role": "assistant", "content": text, **fields}


def test_a_turn_reads_its_message_from_standard_input():
    assert ARM.turn_command(Message("hi"), None, {}).arguments == ()
    command = ARM.turn_command(Message("hi"), "g1", {})

    assert (command.arguments, command.stdin) == (("--resume", "g1"), b"hi")


def test_a_turn_has_a_session_text_tools_and_usage():
    connection = talking()
    happened = feed(
        connection,
        INIT,
        {"type": "message", "role": "user", "content": "hello"},
        said("Hel", delta=True),
        said("lo", delta=True),
        CALL,
        {"type": "tool_result", "tool_id": "w1", "status": "success", "output": "ok"},
        RESULT,
    )
    happened += connection.eof(0)

    assert isinstance(happened[0], Opened)
    assert (happened[0].agent_session_id, happened[0].current_model) == ("g1", "gemini-2.5-flash")
    assert happened[1:] == [
        TextDelta("s1", "Hel"),
        TextDelta("s1", "lo"),
        ToolCall("s1", "w1", "write_file", {"file_path": "/a"}, "edit"),
        ToolResult("s1", "w1", "ok"),
        TurnEnd("s1", COMPLETED, usage=Usage(70, 20, 30)),
    ]


def test_a_failed_tool_is_an_error():
    happened = feed(
        talking(),
        CALL,
        {"type": "tool_result", "tool_id": "w1", "status": "error", "error": {"message": "denied by policy"}},
    )

    assert happened[1] == ToolResult("s1", "w1", "denied by policy", is_error=True)


@pytest.mark.parametrize(
    "status, code, retryable",
    [
        (144, "model_error", False),
        (145, "auth_required", False),
        (173, "rate_limited", True),
        (247, "model_error", True),
        (41, "auth_required", False),
        (52, "config_error", False),
        (1, "agent_error", False),
    ],
)
def test_the_exit_code_says_what_failed(status, code, retryable):
    connection = talking()
    feed(connection, FAILED)
    error, end = connection.eof(status)

    assert isinstance(error, AgentError)
    assert (error.error.code, error.error.retryable, error.error.message) == (
        code,
        retryable,
        "[API Error: nope]",
    )
    assert isinstance(end, TurnEnd)
    assert end.reason == ERROR


@pytest.mark.parametrize("status, reason", [(53, MAX_TURNS), (130, CANCELLED)])
def test_some_exit_codes_are_no_errors(status, reason):
    assert talking().eof(status) == [TurnEnd("s1", reason)]


def test_a_success_that_exits_badly_or_without_result_is_an_error():
    connection = talking()
    feed(connection, RESULT)

    assert connection.eof(1)[-1].reason == ERROR
    assert talking().eof(0)[-1].reason == ERROR


def test_warnings_are_notices_and_errors_wait_for_the_exit_code():
    connection = talking()
    (notice,) = feed(
        connection,
        {"type": "error", "severity": "warning", "message": "loop"},
        {"type": "error", "severity": "error", "message": "broken"},
    )

    assert isinstance(notice, Notice)
    assert of_type(connection.eof(1), AgentError)[0].error.message == "broken"


def test_lines_that_are_no_messages_are_noise():
    assert [
        type(event) for event in feed(talking(), b"Loaded cached credentials.", {"x": 1}, {"type": "thing"})
    ] == [Noise, Noise]


@given(
    st.lists(
        mutated(
            [
                INIT,
                said("x"),
                CALL,
                {"type": "tool_result", "tool_id": "w1", "status": "success"},
                RESULT,
                FAILED,
            ]
        ),
        max_size=20,
    ),
    st.booleans(),
)
def test_dropped_repeated_reordered_and_mutated_lines_never_break_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)
