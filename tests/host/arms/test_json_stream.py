"""The host's side of JSON-stream: both versions, and the reference agent as it really is."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Answer, CallWithdrawn, LateCall, Message, Noise, Opened, PeerError
from operable.host.arms.json_stream import ARM
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    AgentError,
    AgentPrompt,
    ModeChange,
    Notice,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.host.arms.driving import (
    Agent,
    check_order,
    feed,
    mutated,
    of_type,
    opened,
    sent,
    survives,
    text_of,
)

SEED = {
    "type": "ready",
    "version": "0.1.0",
    "session_id": "a1",
    "capabilities": {"tool_approval": True, "thinking": True, "mcp": True},
}
NEWER = {
    **SEED,
    "version": "0.2.0",
    "capabilities": {
        "tool_approval": True,
        "modes": ["default", "yolo"],
        "current_mode": "default",
        "image_input": "supported",
    },
}
REFERENCE = {**SEED, "version": "0.2.10"}
REQUEST = {
    "type": "tool_request",
    "msg_id": "m1",
    "call_id": "t1",
    "tool": {"name": "Write", "category": "edit", "args": {"file_path": "/a"}, "description": "Write to /a"},
}


def talking(ready=SEED, **options):
    connection = opened(ARM, **options)
    feed(connection, ready)
    connection.outgoing()
    connection.send(Message("hello", message_id="m1"))
    return connection


def test_ready_opens_the_session_and_says_what_the_agent_can():
    connection = opened(ARM)
    (happened,) = feed(connection, NEWER)

    assert isinstance(happened, Opened)
    assert (happened.agent_session_id, happened.protocol_version) == ("a1", "0.2.0")
    assert (happened.modes, happened.current_mode) == (("default", "yolo"), "default")
    assert happened.observed == {
        "tool_calls": True,
        "streaming": True,
        "bidirectional": True,
        "multimodal": True,
    }
    assert sent(connection) == []


def test_an_agent_without_sessions_cannot_be_resumed():
    (happened,) = feed(opened(ARM), {"type": "ready", "version": "0.1.0"})

    assert isinstance(happened, Opened)
    assert happened.agent_session_id is None
    assert happened.observed["resumable"] is False


# Releases of the reference agent, as they say `ready`: 0.1.9 has modes, 0.1.11 reads `content`, none says its protocol.
OLD_RELEASE: dict[str, Any] = {
    **SEED,
    "version": "0.1.10",
    "capabilities": {
        "tool_approval": True,
        "modes": ["default", "auto_edit", "yolo"],
        "current_mode": "default",
    },
}
RELEASE = {**OLD_RELEASE, "version": "0.1.38"}


@pytest.mark.parametrize("ready", [SEED, NEWER, OLD_RELEASE, RELEASE, {**SEED, "version": "nightly"}])
def test_a_message_has_both_names_of_its_text_for_no_version_says_which_one_is_read(ready):
    connection = opened(ARM)
    feed(connection, ready)
    connection.outgoing()
    connection.send(Message("hello", files=["/a.png"], message_id="m1"))

    assert sent(connection) == [
        {"type": "message", "msg_id": "m1", "files": ["/a.png"], "input": "hello", "content": "hello"}
    ]


def test_what_an_agent_can_be_told_is_decided_by_its_capabilities_and_not_by_its_version():
    connection = talking(RELEASE, mcp_servers=[{"name": "a", "command": "x"}])

    assert connection.select(model="m")
    assert connection.ping() is True
    assert [command["type"] for command in sent(connection)] == ["message", "set_config", "ping"]


def test_a_major_version_that_the_host_does_not_know_is_noticed_and_the_session_opens():
    notice, happened = feed(opened(ARM), {**NEWER, "version": "2.0.0"})

    assert isinstance(notice, Notice)
    assert (notice.code, notice.data) == ("protocol_version", {"version": "2.0.0"})
    assert isinstance(happened, Opened)


def test_what_must_precede_the_first_message_is_said_in_the_order_that_agents_need():
    connection = opened(
        ARM,
        mcp_servers=[
            {"name": "a", "command": "x", "args": ["y"], "env": [{"name": "K", "value": "v"}]},
            {"name": "b", "type": "http", "url": "http://h", "headers": [{"name": "H", "value": "v"}]},
        ],
        history="before",
        mode="auto_edit",
        model="m",
        options={"effort": "high"},
    )
    feed(connection, NEWER)

    assert sent(connection) == [
        {
            "type": "add_mcp_server",
            "name": "a",
            "transport": "stdio",
            "command": "x",
            "args": ["y"],
            "env": {"K": "v"},
        },
        {
            "type": "add_mcp_server",
            "name": "b",
            "transport": "streamable-http",
            "url": "http://h",
            "headers": {"H": "v"},
        },
        {"type": "init_history", "text": "before"},
        {"type": "set_mode", "mode": "auto_edit"},
        {"type": "set_config", "model": "m"},
        {"type": "set_config", "effort": "high"},
    ]


@pytest.mark.parametrize(
    "ready, options, code",
    [
        (SEED, {"mcp_servers": [{"name": "a", "command": "x"}]}, "mcp_unsupported"),
        (OLD_RELEASE, {"mcp_servers": [{"name": "a", "command": "x"}]}, "mcp_unsupported"),
        (SEED, {"model": "m"}, "select_failed"),
        (NEWER, {"options": {"wings": 2}}, "select_failed"),
    ],
)
def test_what_the_agent_cannot_be_told_is_refused_and_not_passed_over(ready, options, code):
    with pytest.raises(PeerError) as caught:
        feed(opened(ARM, **options), ready)

    assert caught.value.code == code


def test_the_first_version_has_modes_but_no_configuration():
    connection = opened(ARM)
    feed(connection, SEED)

    assert connection.select(mode="yolo")
    assert not connection.select(model="m")
    assert connection.ping() is False  # type: ignore[attr-defined]
    assert sent(connection) == [{"type": "set_mode", "mode": "yolo"}]


def test_modes_models_and_options_are_selected_in_a_session():
    connection = talking(NEWER)
    connection.outgoing()

    assert connection.select(mode="yolo")
    assert connection.select(model="m")
    assert connection.select(option=("compaction", "off"))
    assert not connection.select(option=("wings", 2))
    assert not connection.select()
    assert sent(connection) == [
        {"type": "set_mode", "mode": "yolo"},
        {"type": "set_config", "model": "m"},
        {"type": "set_config", "compaction": "off"},
    ]


def test_a_turn_streams_text_and_thoughts_and_ends_with_its_usage():
    happened = feed(
        talking(),
        {"type": "stream_start", "msg_id": "m1"},
        {"type": "thinking", "text": "hm", "msg_id": "m1"},
        {"type": "text_delta", "text": "Hi", "msg_id": "m1"},
        {
            "type": "stream_end",
            "msg_id": "m1",
            "usage": {
                "input_tokens": 15,
                "output_tokens": 3,
                "cache_read_tokens": 8,
                "cache_write_tokens": 2,
            },
        },
    )

    assert happened == [
        Thought("s1", "hm"),
        TextDelta("s1", "Hi", "m1"),
        TurnEnd("s1", COMPLETED, usage=Usage(15, 3, 8, 2)),
    ]


def test_what_always_covers_is_said_where_the_agent_says_it_and_not_offered_where_nothing_lasts():
    def offered(**more):
        connection = talking()
        question = feed(connection, {**REQUEST, **more})[1]
        assert isinstance(question, AgentPrompt)
        return [choice.name for choice in question.options]

    every = "Allow every tool of this category in this session"
    assert offered() == ["Allow this call", every, "Deny"]
    assert offered(always="execute:git status *")[1] == "Allow in this session: execute:git status *"
    assert offered(always="") == ["Allow this call", "Deny"]


def test_a_request_is_a_call_and_a_question_and_allowing_runs_it():
    connection = talking()
    connection.outgoing()
    call, question = feed(connection, REQUEST)

    assert call == ToolCall("s1", "t1", "Write", {"file_path": "/a"}, "edit", "Write to /a")
    assert isinstance(question, AgentPrompt)
    assert (question.tool_name, question.arguments, question.kind, question.call_id) == (
        "Write",
        {"file_path": "/a"},
        "edit",
        "t1",
    )
    assert [choice.id for choice in question.options] == ["once", "always", "deny"]

    connection.answer(question.tool_call_id, Answer(allowed=True))
    assert sent(connection) == [{"type": "tool_approve", "call_id": "t1", "scope": "once"}]
    assert feed(
        connection,
        {"type": "tool_running", "msg_id": "m1", "call_id": "t1", "tool_name": "Write"},
        {
            "type": "tool_result",
            "msg_id": "m1",
            "call_id": "t1",
            "tool_name": "Write",
            "status": "success",
            "output": "ok",
            "output_type": "text",
        },
    ) == [ToolResult("s1", "t1", "ok")]


@pytest.mark.parametrize(
    "answer, written",
    [
        (Answer(allowed=True), {"type": "tool_approve", "call_id": "t1", "scope": "once"}),
        (
            Answer(allowed=True, option_id="always"),
            {"type": "tool_approve", "call_id": "t1", "scope": "always"},
        ),
        (Answer(allowed=True, option_id="deny"), {"type": "tool_deny", "call_id": "t1", "reason": "Denied."}),
        (
            Answer(allowed=False, reason="not there"),
            {"type": "tool_deny", "call_id": "t1", "reason": "not there"},
        ),
        (
            Answer(allowed=True, cancelled=True),
            {"type": "tool_deny", "call_id": "t1", "reason": "The user cancelled the turn."},
        ),
    ],
)
def test_an_answer_is_sent_in_the_words_of_the_protocol_and_never_wider_than_it_was(answer, written):
    connection = talking()
    feed(connection, REQUEST)
    connection.outgoing()

    connection.answer("q1", answer)
    assert sent(connection) == [written]
    connection.answer("q1", Answer(allowed=True))
    assert sent(connection) == []


def test_a_denied_call_ends_denied_with_the_reason_and_the_turn_goes_on():
    connection = talking()
    feed(connection, REQUEST)
    connection.answer("q1", Answer(allowed=False, reason="not there"))
    happened = feed(
        connection,
        {"type": "tool_cancelled", "msg_id": "m1", "call_id": "t1", "reason": "not there"},
        {"type": "text_delta", "text": "Then not.", "msg_id": "m1"},
        {"type": "stream_end", "msg_id": "m1"},
    )

    assert happened[0] == ToolResult("s1", "t1", "not there", is_error=True, denied=True)
    assert happened[-1] == TurnEnd("s1", COMPLETED)


def test_a_tool_that_runs_without_having_asked_is_a_call_too():
    happened = feed(
        talking(),
        {"type": "tool_running", "msg_id": "m1", "call_id": "t1", "tool_name": "ExecCommand"},
        {"type": "tool_result", "msg_id": "m1", "call_id": "t1", "status": "error", "output": "Exit code: 1"},
    )

    assert happened == [
        ToolCall("s1", "t1", "ExecCommand", kind="execute"),
        ToolResult("s1", "t1", "Exit code: 1", is_error=True),
    ]


def test_a_tool_that_runs_without_having_asked_has_its_arguments_if_the_agent_reports_them():
    tool = {"name": "Bash", "category": "exec", "args": {"command": "ls"}, "description": "Run ls"}
    running = {"type": "tool_running", "msg_id": "m1", "call_id": "t1", "tool_name": "Bash", "tool": tool}

    assert feed(talking(), running) == [ToolCall("s1", "t1", "Bash", {"command": "ls"}, "execute", "Run ls")]


def test_a_diff_keeps_its_type_and_what_it_is_about():
    happened = feed(
        talking(),
        {"type": "tool_running", "call_id": "t1", "tool_name": "Edit"},
        {
            "type": "tool_result",
            "call_id": "t1",
            "status": "success",
            "output": "--- a",
            "output_type": "diff",
            "metadata": {"file_path": "/a"},
        },
    )

    assert happened[1] == ToolResult(
        "s1", "t1", {"type": "diff", "output": "--- a", "metadata": {"file_path": "/a"}}
    )


def test_several_requests_are_answered_one_by_one():
    connection = talking()
    feed(connection, REQUEST, {**REQUEST, "call_id": "t2"}, {**REQUEST, "call_id": "t2"})
    connection.outgoing()
    connection.answer("q2", Answer(allowed=True))
    connection.answer("q1", Answer(allowed=False, reason="no"))

    assert [(command["type"], command["call_id"]) for command in sent(connection)] == [
        ("tool_approve", "t2"),
        ("tool_deny", "t1"),
    ]


def test_cancel_denies_what_is_open_then_stops_and_sends_no_late_approval():
    connection = talking()
    feed(connection, REQUEST)
    connection.outgoing()
    connection.cancel()
    connection.cancel()
    connection.answer("q1", Answer(allowed=True))

    assert [command["type"] for command in sent(connection)] == ["tool_deny", "stop"]
    assert feed(connection, {"type": "stream_end", "msg_id": "m1"})[-1] == TurnEnd("s1", CANCELLED)


def test_a_request_that_comes_while_cancelling_is_denied_without_asking_anybody():
    connection = talking()
    connection.cancel()
    connection.outgoing()
    happened = feed(connection, REQUEST, {"type": "stream_end", "msg_id": "m1"})

    assert of_type(happened, AgentPrompt) == []
    assert [command["type"] for command in sent(connection)] == ["tool_deny"]
    check_order(happened, turns=1)


def test_a_request_outside_of_a_turn_is_denied():
    connection = opened(ARM)
    feed(connection, SEED)

    assert of_type(feed(connection, REQUEST), ToolCall) == []
    assert [command["type"] for command in sent(connection)] == ["tool_deny"]


def test_an_idle_agent_is_not_stopped_because_the_reference_agent_would_exit():
    connection = opened(ARM)
    feed(connection, SEED)
    connection.cancel()

    assert sent(connection) == []


def test_an_agent_that_exits_after_a_stop_has_cancelled_its_turn():
    connection = talking(REFERENCE)
    feed(connection, REQUEST)
    connection.cancel()
    happened = connection.eof(0)

    assert happened == [
        ToolResult("s1", "t1", "denied", is_error=True, denied=True),
        TurnEnd("s1", CANCELLED),
    ]


def test_an_agent_that_dies_in_a_turn_is_an_error():
    happened = talking().eof(101)

    assert isinstance(happened[0], AgentError)
    assert happened[0].error.code == "agent_exited"
    assert happened[1] == TurnEnd("s1", ERROR)


@pytest.mark.parametrize("ids", [{}, {"msg_id": None}, {"msg_id": "m1"}])
def test_an_error_and_the_end_of_the_stream_are_a_turn_that_ended_by_error(ids):
    happened = feed(
        talking(REFERENCE),
        {"type": "error", "error": {"code": "engine_error", "message": "no key", "retryable": False}, **ids},
        {"type": "stream_end", "msg_id": "m1", "usage": {"input_tokens": 0, "output_tokens": 0}},
    )

    assert isinstance(happened[0], AgentError)
    assert (happened[0].error.code, happened[0].error.message) == ("engine_error", "no key")
    assert happened[1] == TurnEnd("s1", ERROR, usage=Usage())


def test_an_error_after_which_the_agent_went_on_does_not_fail_the_turn():
    happened = feed(
        talking(),
        {
            "type": "error",
            "msg_id": "m1",
            "error": {"code": "provider_error", "message": "429", "retryable": True},
        },
        {"type": "text_delta", "text": "at last", "msg_id": "m1"},
        {"type": "stream_end", "msg_id": "m1"},
    )

    assert happened[-1] == TurnEnd("s1", COMPLETED)


@pytest.mark.parametrize(
    "ready, quirks, second",
    [
        (SEED, {}, Usage(300, 30)),
        (NEWER, {}, Usage(300, 30)),
        (REFERENCE, {}, Usage(200, 20)),
        (REFERENCE, {"usage": "turn"}, Usage(300, 30)),
        (SEED, {"usage": "session"}, Usage(200, 20)),
    ],
)
def test_usage_is_told_per_turn_also_by_agents_that_count_per_session(ready, quirks, second):
    connection = talking(ready, quirks=quirks)
    first = feed(
        connection,
        {"type": "stream_end", "msg_id": "m1", "usage": {"input_tokens": 100, "output_tokens": 10}},
    )
    connection.send(Message("again", message_id="m2"))
    failed = feed(
        connection, {"type": "stream_end", "msg_id": "m2", "usage": {"input_tokens": 0, "output_tokens": 0}}
    )
    connection.send(Message("again", message_id="m3"))
    third = feed(
        connection,
        {"type": "stream_end", "msg_id": "m3", "usage": {"input_tokens": 300, "output_tokens": 30}},
    )

    assert [events[-1].usage for events in (first, failed, third)] == [Usage(100, 10), Usage(), second]  # type: ignore[union-attr]


@pytest.mark.parametrize("used, first", [(Usage(100, 10), Usage(200, 20)), (None, None)])
def test_usage_after_a_resume_is_of_the_turn_or_unknown_but_not_of_the_session(used, first):
    connection = talking(REFERENCE, resume="a1", used=used)
    usage = {"input_tokens": 300, "output_tokens": 30}
    resumed = feed(connection, {"type": "stream_end", "msg_id": "m1", "usage": usage})
    connection.send(Message("again", message_id="m2"))
    usage = {"input_tokens": 350, "output_tokens": 35}
    second = feed(connection, {"type": "stream_end", "msg_id": "m2", "usage": usage})

    assert [events[-1].usage for events in (resumed, second)] == [first, Usage(50, 5)]  # type: ignore[union-attr]


def test_lines_with_which_the_reference_agent_repeats_itself_are_dropped_and_others_are_notices():
    happened = feed(
        talking(REFERENCE),
        {"type": "info", "msg_id": "", "message": "Tool call: Write"},
        {"type": "info", "msg_id": "", "message": "[Write success] done"},
        {"type": "info", "msg_id": "m1", "message": "retrying (1/2)"},
        {"type": "info", "message": "mode updated: yolo"},
    )

    assert [notice.message for notice in of_type(happened, Notice)] == [
        "retrying (1/2)",
        "mode updated: yolo",
    ]


def test_what_comes_for_an_earlier_message_does_not_end_the_turn_that_runs():
    connection = talking()
    feed(connection, {"type": "stream_end", "msg_id": "m1"})
    connection.send(Message("again", message_id="m2"))
    happened = feed(
        connection,
        {"type": "text_delta", "msg_id": "m1", "text": "late"},
        {"type": "stream_end", "msg_id": "m1"},
    )

    assert [type(event) for event in happened] == [Notice, Notice]
    assert feed(connection, {"type": "stream_end", "msg_id": "m2"}) == [TurnEnd("s1", COMPLETED)]


def test_a_tool_that_runs_for_an_earlier_message_is_given_to_be_judged():
    connection = talking()
    feed(connection, {"type": "stream_end", "msg_id": "m1"})
    connection.send(Message("again", message_id="m2"))
    connection.outgoing()
    asked = {"name": "Bash", "category": "exec", "args": {"command": "rm x"}, "description": "rm x"}

    happened = feed(
        connection,
        {"type": "tool_running", "msg_id": "m1", "call_id": "t1", "tool_name": "ExecCommand"},
        {"type": "tool_result", "msg_id": "m1", "call_id": "t1", "status": "success", "output": "gone"},
        {"type": "tool_request", "msg_id": "m1", "call_id": "t2", "tool": asked},
    )

    assert [event.about for event in happened if isinstance(event, LateCall)] == [
        ToolCall("s1", "t1", "ExecCommand", {}, "execute"),
        ToolResult("s1", "t1", "gone"),
        ToolCall("s1", "t2", "Bash", {"command": "rm x"}, "execute"),
    ]
    assert all(isinstance(event, LateCall | Notice) for event in happened)
    assert [line["type"] for line in sent(connection)] == ["tool_deny"]


def test_an_agent_that_begins_a_turn_under_an_id_of_its_own_ends_it_under_that():
    happened = feed(
        talking(),
        {"type": "stream_start", "msg_id": "zz"},
        {"type": "text_delta", "text": "x", "msg_id": "zz"},
        {"type": "stream_end", "msg_id": "zz"},
    )

    assert text_of(happened) == "x"
    assert happened[-1] == TurnEnd("s1", COMPLETED)


def test_the_end_of_a_stream_that_never_began_does_not_end_the_turn():
    connection = talking()
    (notice,) = feed(connection, {"type": "stream_end", "msg_id": "zz"})

    assert isinstance(notice, Notice)
    assert notice.code == "outside_turn"
    assert feed(connection, {"type": "stream_end", "msg_id": "m1"}) == [TurnEnd("s1", COMPLETED)]


def test_a_slash_command_ends_a_turn_that_never_started():
    assert feed(talking(), {"type": "stream_end", "msg_id": "m1"}) == [TurnEnd("s1", COMPLETED)]


def test_changes_signs_of_life_and_strangers_are_told_beside_the_seven():
    connection = talking(NEWER)
    connection.outgoing()
    assert connection.ping() is True
    happened = feed(
        connection,
        {"type": "config_changed", "capabilities": {"current_mode": "yolo", "current_model": "m"}},
        {"type": "mcp_ready", "name": "a", "tools": ["t"]},
        {"type": "pong"},
        {"type": "hologram"},
        NEWER,
        b"Starting up...",
    )

    assert sent(connection) == [{"type": "ping"}]
    assert isinstance(happened[0], ModeChange)
    assert (happened[0].mode, happened[0].model) == ("yolo", "m")
    assert [notice.code for notice in of_type(happened, Notice)] == [
        "mcp_ready",
        "pong",
        "unknown_event",
        "outside_turn",
    ]
    assert isinstance(happened[-1], Noise)


def test_a_result_that_comes_without_an_answer_withdraws_the_question():
    connection = talking()
    feed(connection, REQUEST)
    happened = feed(connection, {"type": "tool_cancelled", "call_id": "t1", "reason": "timeout"})

    assert happened == [CallWithdrawn("q1"), ToolResult("s1", "t1", "timeout", is_error=True)]


LINES = [
    {"type": "stream_start", "msg_id": "m1"},
    {"type": "thinking", "text": "hm", "msg_id": "m1"},
    {"type": "text_delta", "text": "Hi", "msg_id": "m1"},
    REQUEST,
    {"type": "tool_running", "msg_id": "m1", "call_id": "t1", "tool_name": "Write"},
    {"type": "tool_result", "msg_id": "m1", "call_id": "t1", "status": "success", "output": "ok"},
    {"type": "error", "error": {"code": "engine_error", "message": "x"}},
    {"type": "info", "message": "x"},
    {"type": "stream_end", "msg_id": "m1", "usage": {"input_tokens": 1, "output_tokens": 1}},
]


@given(st.lists(mutated(LINES), max_size=30), st.booleans())
def test_dropped_repeated_reordered_and_mutated_lines_never_break_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_a_conversation_with_a_real_process(version, tmp_path):
    script = {
        "options": {"version": version},
        "turns": {
            "work": [
                {"say": "Working. "},
                {
                    "call": "Write",
                    "kind": "edit",
                    "ask": True,
                    "touch": str(tmp_path / "made"),
                    "result": "ok",
                },
                {"say": "Done."},
            ],
            "slow": [{"say": "..."}, {"hang": True}],
        },
    }
    agent = Agent(
        opened(ARM),
        [
            sys.executable,
            "-m",
            "operable.testing.scripted_agent",
            "--protocol",
            "json-stream",
            "--json",
            json.dumps(script),
        ],
    )
    try:
        agent.until(lambda event: isinstance(event, Opened))
        denied = agent.turn("SCRIPT:work", lambda _: Answer(allowed=False, reason="not now"))
        assert of_type(denied, ToolResult)[0].denied
        assert not (tmp_path / "made").exists()
        allowed = agent.turn("SCRIPT:work", lambda _: Answer(allowed=True))
        assert text_of(allowed) == "Working. Done."
        assert (tmp_path / "made").exists()
        agent.connection.send(Message("SCRIPT:slow"))
        agent.until(lambda event: isinstance(event, TextDelta))
        agent.connection.cancel()
        assert agent.until(lambda event: isinstance(event, TurnEnd))[-1] == TurnEnd(
            "s1", CANCELLED, usage=Usage(10, 5)
        )
        assert text_of(agent.turn("still there?")) != ""
        check_order(agent.seen, turns=4)
    finally:
        status = agent.close()
    assert status == 0
