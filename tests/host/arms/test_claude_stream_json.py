"""Claude Code's stream-json: lines as the real binary (2.1) prints them, and as a hostile one might."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Answer, CallWithdrawn, Message, Noise, Opened, PeerError
from operable.host.arms.claude_stream_json import ARM
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    MAX_TOKENS,
    MAX_TURNS,
    REFUSAL,
    AgentError,
    AgentPlan,
    AgentPrompt,
    ModeChange,
    Notice,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.host.arms.driving import check_order, feed, mutated, of_type, opened, sent, survives, text_of

READY = {
    "type": "control_response",
    "response": {
        "subtype": "success",
        "request_id": "operable-1",
        "response": {"commands": [], "models": [{"value": "sonnet"}]},
    },
}
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "c1",
    "model": "opus",
    "permissionMode": "default",
    "claude_code_version": "2.1.197",
    "tools": ["Bash"],
}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "stop_reason": "end_turn",
    "result": "Hello",
    "total_cost_usd": 0.25,
    "usage": {
        "input_tokens": 10,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
    },
}
ASK: dict[str, Any] = {
    "type": "control_request",
    "request_id": "r1",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "ls"},
        "description": "list",
        "tool_use_id": "t1",
        "permission_suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "ls"}],
                "behavior": "allow",
                "destination": "localSettings",
            },
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "addDirectories", "directories": ["/x"], "destination": "session"},
        ],
    },
}


def stream(event, parent=None):
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


def delta(kind, value, index=0):
    names = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
    return stream(
        {"type": "content_block_delta", "index": index, "delta": {"type": kind, names[kind]: value}}
    )


def assistant(*blocks, parent=None, **fields):
    return {
        "type": "assistant",
        "message": {"id": "msg1", "content": list(blocks)},
        "parent_tool_use_id": parent,
        **fields,
    }


def tool_use(call_id="t1", name="Bash", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def tool_result(content, call_id="t1", **fields):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None}


def talking(**options):
    connection = opened(ARM, **options)
    feed(connection, READY)
    connection.outgoing()
    connection.send(Message("hello"))
    connection.outgoing()
    return connection


def test_the_handshake_is_a_control_request_and_its_answer_opens_the_session():
    connection = opened(ARM)
    (asked,) = sent(connection)
    assert (asked["type"], asked["request"]["subtype"]) == ("control_request", "initialize")

    (happened,) = feed(connection, READY)
    assert isinstance(happened, Opened)
    assert happened.models == ("sonnet",)
    assert "plan" in happened.modes


def test_the_first_turn_tells_the_session_id_and_later_ones_only_changes():
    connection = talking()
    first, second, third = (
        feed(connection, INIT),
        feed(connection, INIT),
        feed(connection, {**INIT, "model": "haiku"}),
    )

    assert isinstance(first[0], Opened)
    assert (first[0].agent_session_id, first[0].agent_version, first[0].current_model) == (
        "c1",
        "2.1.197",
        "opus",
    )
    assert second == []
    assert third == [ModeChange("s1", model="haiku")]


def test_qwen_is_recognised():
    (happened,) = feed(
        talking(),
        {
            "type": "system",
            "subtype": "init",
            "session_id": "q1",
            "model": "m",
            "permission_mode": "default",
            "qwen_code_version": "0.24.4",
        },
    )

    assert isinstance(happened, Opened)
    assert (happened.agent_name, happened.agent_version, happened.current_mode) == (
        "qwen-code",
        "0.24.4",
        "default",
    )


def test_qwen_repeats_its_session_id_in_every_turn_and_counts_through_the_session():
    init = {
        "type": "system",
        "subtype": "init",
        "uuid": "q1",
        "session_id": "q1",
        "model": "m",
        "qwen_code_version": "0.24.4",
    }
    connection = talking()
    counted = [
        {
            "type": "result",
            "subtype": "success",
            "uuid": f"r{total}",
            "usage": {"input_tokens": total, "output_tokens": 0, "total_tokens": total},
        }
        for total in (200, 500)
    ]
    first = feed(connection, init, counted[0])[-1]
    connection.send(Message("again"))
    second = feed(connection, init, counted[1])
    resumed = feed(talking(resume="q1"), counted[0])[-1]

    assert [end.usage for end in (first, second[-1], resumed)] == [Usage(200), Usage(300), None]  # type: ignore[union-attr]
    assert of_type(second, Notice) == []


def test_captions_of_buttons_are_no_rules():
    suggestions = [{"type": "allow", "label": "Allow"}, {"type": "deny", "label": "Deny"}]
    connection = talking()
    _, question = feed(
        connection, {**ASK, "request": {**ASK["request"], "permission_suggestions": suggestions}}
    )
    assert isinstance(question, AgentPrompt)
    assert [choice.id for choice in question.options] == ["allow", "deny"]

    connection.answer("q1", Answer(allowed=True, option_id="rule-1"))
    assert sent(connection)[0]["response"]["response"] == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
    }


def test_an_agent_that_refuses_to_initialize_is_given_up():
    with pytest.raises(PeerError, match="too old"):
        feed(
            opened(ARM),
            {
                "type": "control_response",
                "response": {"subtype": "error", "request_id": "operable-1", "error": "too old"},
            },
        )


def test_mode_model_servers_and_options_are_set_before_the_first_turn():
    connection = opened(
        ARM,
        mode="plan",
        model="opus",
        options={"max_thinking_tokens": 5},
        mcp_servers=[
            {"name": "a", "command": "x", "env": [{"name": "K", "value": "v"}]},
            {"name": "b", "type": "sse", "url": "http://h"},
        ],
    )
    connection.outgoing()
    feed(connection, READY)

    assert [line["request"] for line in sent(connection)] == [
        {
            "subtype": "mcp_set_servers",
            "servers": {
                "a": {"type": "stdio", "command": "x", "args": [], "env": {"K": "v"}},
                "b": {"type": "sse", "url": "http://h", "headers": {}},
            },
        },
        {"subtype": "set_permission_mode", "mode": "plan"},
        {"subtype": "set_model", "model": "opus"},
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 5},
    ]


def test_a_mode_that_the_agent_refuses_at_the_beginning_is_no_session():
    connection = opened(ARM, mode="wild")
    feed(connection, READY)

    with pytest.raises(PeerError, match="wild"):
        feed(
            connection,
            {
                "type": "control_response",
                "response": {"subtype": "error", "request_id": "operable-2", "error": "no mode wild"},
            },
        )


def test_an_unknown_option_is_no_session():
    with pytest.raises(PeerError, match="wings"):
        feed(opened(ARM, options={"wings": 2}), READY)


def test_later_selections_are_confirmed_or_refused_without_harm():
    connection = talking()
    assert connection.select(model="haiku")
    assert connection.select(mode="plan")
    assert not connection.select(option=("wings", 2))
    ids = [line["request_id"] for line in sent(connection)]
    happened = feed(
        connection,
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": ids[0], "response": {}},
        },
        {"type": "control_response", "response": {"subtype": "error", "request_id": ids[1], "error": "no"}},
        {"type": "system", "subtype": "status", "permissionMode": "acceptEdits"},
        {"type": "system", "subtype": "status", "permissionMode": "acceptEdits"},
    )

    assert happened[0] == ModeChange("s1", model="haiku")
    assert isinstance(happened[1], Notice)
    assert happened[2:] == [ModeChange("s1", "acceptEdits")]


def test_a_message_carries_images_and_names_files():
    connection = opened(ARM)
    connection.outgoing()
    connection.send(Message("look", files=["/a.txt"], images=[("image/png", "aGk=")]))
    (line,) = sent(connection)

    assert line["type"] == "user"
    assert line["message"]["content"] == [
        {"type": "text", "text": "look\n\n[Attached files]\n/a.txt"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    ]


def test_text_that_was_streamed_is_not_told_again_by_the_whole_message():
    happened = feed(
        talking(),
        INIT,
        stream({"type": "message_start", "message": {"id": "msg1"}}),
        delta("thinking_delta", "h"),
        delta("thinking_delta", "m"),
        assistant({"type": "thinking", "thinking": "hm"}),
        delta("text_delta", "Hel"),
        delta("text_delta", "lo"),
        assistant({"type": "text", "text": "Hello"}),
        stream({"type": "message_stop"}),
        RESULT,
    )

    assert text_of(happened) == "Hello"
    assert [thought.text for thought in of_type(happened, Thought)] == ["h", "m"]
    assert happened[-1] == TurnEnd("s1", COMPLETED, "end_turn", Usage(10, 2, 3, 4, 0.25))


@pytest.mark.parametrize("streamed, told", [([], "Hello"), (["Hel"], "Hello"), (["Hello"], "Hello")])
def test_what_the_stream_left_out_comes_from_the_whole_message(streamed, told):
    happened = feed(
        talking(),
        *(delta("text_delta", piece) for piece in streamed),
        assistant({"type": "text", "text": "Hello"}),
        RESULT,
    )

    assert text_of(happened) == told


def test_two_blocks_of_one_message_are_both_told():
    happened = feed(
        talking(), assistant({"type": "text", "text": "a"}), assistant({"type": "text", "text": "b"}), RESULT
    )

    assert text_of(happened) == "ab"


def test_a_slash_command_answers_in_its_result():
    assert text_of(feed(talking(), RESULT)) == "Hello"


def test_a_call_comes_once_with_its_whole_input_and_before_its_result():
    happened = feed(
        talking(),
        stream(
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}},
            }
        ),
        delta("input_json_delta", '{"comm', 1),
        delta("input_json_delta", 'and":"ls"}', 1),
        assistant(tool_use(command="ls")),
        stream({"type": "content_block_stop", "index": 1}),
        tool_result("a.txt"),
    )

    assert happened == [
        ToolCall("s1", "t1", "Bash", {"command": "ls"}, "execute"),
        ToolResult("s1", "t1", "a.txt"),
    ]


def test_where_the_whole_message_is_missing_the_input_is_put_together_from_its_pieces():
    happened = feed(
        talking(),
        stream(
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "t1", "name": "Read"},
            }
        ),
        delta("input_json_delta", '{"file_path":', 1),
        delta("input_json_delta", '"/a"}', 1),
        stream({"type": "content_block_stop", "index": 1}),
    )

    assert happened == [ToolCall("s1", "t1", "Read", {"file_path": "/a"}, "read")]


@pytest.mark.parametrize(
    "content, plain",
    [
        ("text", "text"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}],
            [{"type": "image", "mimeType": "image/png", "data": "eA=="}],
        ),
        (None, None),
    ],
)
def test_the_content_of_a_result_is_made_plain(content, plain):
    happened = feed(talking(), assistant(tool_use()), tool_result(content))

    assert happened[1] == ToolResult("s1", "t1", plain)


def test_the_list_of_things_to_do_is_a_plan():
    happened = feed(
        talking(),
        assistant(
            tool_use("t1", "TodoWrite", todos=[{"content": "a", "status": "completed"}, {"content": "b"}])
        ),
    )

    (plan,) = of_type(happened, AgentPlan)
    assert [(entry.content, entry.status) for entry in plan.entries] == [("a", "completed"), ("b", "pending")]


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_permission_request_without_a_name_is_still_one_for_permission(name):
    _, question = feed(talking(), {**ASK, "request": {**ASK["request"], "tool_name": name}})

    assert isinstance(question, AgentPrompt)
    assert question.tool_name
    assert question.arguments == {"command": "ls"}


def test_a_permission_request_is_a_question_whose_choices_name_what_they_allow():
    call, question = feed(talking(), ASK)

    assert call == ToolCall("s1", "t1", "Bash", {"command": "ls"}, "execute", "list")
    assert isinstance(question, AgentPrompt)
    assert (question.tool_name, question.arguments, question.call_id) == ("Bash", {"command": "ls"}, "t1")
    assert [(choice.id, choice.name) for choice in question.options] == [
        ("allow", "Allow this call"),
        ("rule-0", "Allow, and from now on allow Bash(ls) (kept in: localSettings)"),
        ("rule-1", "Allow, and switch to mode acceptEdits (kept in: session)"),
        ("rule-2", "Allow, and give access to /x (kept in: session)"),
        ("deny", "Deny"),
    ]


@pytest.mark.parametrize(
    "answer, response",
    [
        (Answer(allowed=True), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (
            Answer(allowed=True, option_id="rule-1"),
            {
                "behavior": "allow",
                "updatedInput": {"command": "ls"},
                "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
            },
        ),
        (Answer(allowed=True, option_id="rule-9"), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (
            Answer(allowed=False, reason="not today"),
            {"behavior": "deny", "message": "not today", "interrupt": False},
        ),
        (
            Answer(allowed=True, option_id="deny"),
            {"behavior": "deny", "message": "Denied.", "interrupt": False},
        ),
        (
            Answer(allowed=False, cancelled=True),
            {"behavior": "deny", "message": "The user cancelled the turn.", "interrupt": True},
        ),
    ],
)
def test_an_answer_is_sent_in_the_words_of_the_protocol_once(answer, response):
    connection = talking()
    feed(connection, ASK)
    connection.answer("q1", answer)
    connection.answer("q1", Answer(allowed=True))

    assert sent(connection) == [
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "r1", "response": response},
        }
    ]


def test_a_denied_call_has_a_denied_result_with_the_reason():
    connection = talking()
    feed(connection, ASK)
    connection.answer("q1", Answer(allowed=False, reason="not today"))

    assert feed(connection, tool_result("not today", is_error=True)) == [
        ToolResult("s1", "t1", "not today", is_error=True, denied=True)
    ]


def test_a_rejection_that_only_the_agent_knows_of_is_a_denial_too():
    rejected = {
        **tool_result("rule says no", is_error=True),
        "tool_result_meta": [{"id": "t1", "permission_decision": {"decision": "reject"}}],
    }

    assert feed(talking(), assistant(tool_use()), rejected)[1].denied  # type: ignore[union-attr]


def test_a_withdrawn_request_is_no_longer_open():
    connection = talking()
    feed(connection, ASK)

    assert feed(connection, {"type": "control_cancel_request", "request_id": "r1"}) == [CallWithdrawn("q1")]
    connection.answer("q1", Answer(allowed=True))
    assert sent(connection) == []


def test_questions_of_a_tool_are_asked_with_a_schema_and_answered_in_its_input():
    connection = talking()
    questions = [
        {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]},
        {"question": "All?", "multiSelect": True, "options": []},
    ]
    request = {
        "subtype": "can_use_tool",
        "tool_name": "AskUserQuestion",
        "input": {"questions": questions},
        "tool_use_id": "t1",
    }
    (_, asked) = feed(connection, {"type": "control_request", "request_id": "r1", "request": request})
    assert isinstance(asked, AgentPrompt)
    assert (asked.tool_name, asked.text) == ("", "Which?\nAll?")
    assert asked.schema["properties"]["Which?"] == {"type": "string", "examples": ["A", "B"]}

    connection.answer("q1", Answer(allowed=True, content={"Which?": "A", "All?": ["x", "y"]}))
    (line,) = sent(connection)
    assert line["response"]["response"] == {
        "behavior": "allow",
        "updatedInput": {"questions": questions, "answers": {"Which?": "A", "All?": "x, y"}},
    }


@pytest.mark.parametrize(
    "answer, response",
    [
        (Answer(allowed=True, content={"a": 1}), {"action": "accept", "content": {"a": 1}}),
        (Answer(allowed=False), {"action": "decline"}),
        (Answer(allowed=False, cancelled=True), {"action": "cancel"}),
    ],
)
def test_what_an_mcp_server_asks_is_asked_where_the_host_can(answer, response):
    elicitation = {
        "type": "control_request",
        "request_id": "r1",
        "request": {"subtype": "elicitation", "message": "name?", "requested_schema": {"type": "object"}},
    }
    able, unable = talking(elicitation=True), talking()
    (asked,) = feed(able, elicitation)
    assert isinstance(asked, AgentPrompt)
    assert (asked.text, asked.schema) == ("name?", {"type": "object"})
    able.answer("q1", answer)
    assert sent(able)[0]["response"]["response"] == response

    assert feed(unable, elicitation) == []
    assert sent(unable)[0]["response"]["response"] == {"action": "decline"}


@pytest.mark.parametrize(
    "request_, subtype",
    [({"subtype": "hook_callback"}, "error"), ({"subtype": "request_user_dialog"}, "success"), ({}, "error")],
)
def test_every_request_of_the_agent_gets_an_answer(request_, subtype):
    connection = talking()
    feed(connection, {"type": "control_request", "request_id": "r1", "request": request_})

    (line,) = sent(connection)
    assert (line["response"]["subtype"], line["response"]["request_id"]) == (subtype, "r1")


def test_cancel_denies_what_is_open_interrupts_and_sends_no_late_approval():
    connection = talking()
    feed(connection, ASK)
    connection.cancel()
    connection.cancel()
    connection.answer("q1", Answer(allowed=True))
    denied, interrupt = sent(connection)

    assert denied["response"]["response"]["behavior"] == "deny"
    assert interrupt["request"] == {"subtype": "interrupt"}
    happened = feed(
        connection,
        {**ASK, "request_id": "r2"},
        {
            **RESULT,
            "subtype": "error_during_execution",
            "is_error": True,
            "terminal_reason": "aborted_streaming",
        },
    )
    assert of_type(happened, AgentPrompt) == []
    assert sent(connection)[0]["response"]["response"]["behavior"] == "deny"
    assert happened[-1].reason == CANCELLED  # type: ignore[union-attr]
    check_order([ToolCall("s1", "t1", "Bash"), *happened], turns=1)


def test_nothing_is_cancelled_while_no_turn_runs():
    connection = opened(ARM)
    feed(connection, READY)
    connection.outgoing()
    connection.cancel()

    assert sent(connection) == []


@pytest.mark.parametrize(
    "fields, reason, code",
    [
        ({"stop_reason": "max_tokens"}, MAX_TOKENS, None),
        ({"stop_reason": "refusal"}, REFUSAL, None),
        ({"subtype": "error_max_turns", "is_error": True}, MAX_TURNS, None),
        ({"is_error": True, "api_error_status": 400, "result": "API Error: 400"}, ERROR, "model_error"),
        ({"is_error": True, "api_error_status": 401}, ERROR, "auth_required"),
        ({"is_error": True, "api_error_status": 429}, ERROR, "rate_limited"),
        ({"subtype": "error_max_budget_usd", "is_error": True}, ERROR, "budget_exceeded"),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["boom"]}, ERROR, "agent_error"),
        ({"terminal_reason": "aborted_tools", "subtype": "error_during_execution"}, CANCELLED, None),
    ],
)
def test_a_result_says_why_the_turn_ended(fields, reason, code):
    happened = feed(talking(), {**RESULT, **fields})

    assert of_type(happened, TurnEnd)[0].reason == reason
    assert [event.error.code for event in of_type(happened, AgentError)] == ([code] if code else [])


def test_an_error_in_the_words_of_an_answer_is_told_as_an_error_only():
    happened = feed(
        talking(),
        assistant({"type": "text", "text": "API Error: 400"}, is_api_error_message=True),
        {**RESULT, "is_error": True, "api_error_status": 529, "result": "API Error: overloaded"},
    )

    assert text_of(happened) == ""
    assert of_type(happened, AgentError)[0].error.retryable


def test_cost_is_told_per_turn():
    connection, resumed = talking(), talking(resume="c0")
    first = feed(connection, RESULT)[-1]
    connection.send(Message("again"))
    second = feed(connection, {**RESULT, "total_cost_usd": 0.75})[-1]
    unknown = feed(resumed, RESULT)[-1]
    exact = {
        **RESULT,
        "model_usage_since_last_result": {"opus": {"costUSD": 0.5}, "haiku": {"costUSD": 0.25}},
    }

    assert [end.usage.cost_usd for end in (first, second, unknown)] == [0.25, 0.5, None]  # type: ignore[union-attr]
    assert feed(talking(resume="c0"), exact)[-1].usage.cost_usd == 0.75  # type: ignore[union-attr]


def test_what_a_sub_agent_says_is_no_part_of_the_answer_but_its_tools_are_calls():
    happened = feed(
        talking(),
        stream(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "inner"}},
            parent="t0",
        ),
        assistant({"type": "text", "text": "inner"}, tool_use("t9", "Bash", command="ls"), parent="t0"),
    )

    assert text_of(happened) == ""
    assert [notice.code for notice in of_type(happened, Notice)] == ["sub_agent"]
    assert of_type(happened, ToolCall)[0].tool_call_id == "t9"


def test_a_line_that_comes_twice_counts_once():
    connection = talking()
    line = {**assistant({"type": "text", "text": "once"}), "uuid": "u1"}

    assert text_of(feed(connection, line, line)) == "once"


def test_what_is_of_no_matter_is_passed_over_and_the_rest_is_noted():
    happened = feed(
        talking(),
        {"type": "keep_alive"},
        {"type": "system", "subtype": "hook_started"},
        {"type": "system", "subtype": "api_retry", "attempt": 2},
        {
            "type": "user",
            "message": {"content": "<local-command-stdout>x</local-command-stdout>"},
            "isReplay": True,
        },
        {"no": "type"},
        b"oops",
    )

    assert [type(event) for event in happened] == [Notice, Noise, Noise]


LINES = [
    INIT,
    delta("text_delta", "x"),
    stream(
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t1", "name": "Bash"},
        }
    ),
    stream({"type": "content_block_stop", "index": 1}),
    assistant({"type": "text", "text": "xy"}, tool_use()),
    ASK,
    tool_result("ok"),
    {"type": "control_cancel_request", "request_id": "r1"},
    RESULT,
    {"type": "result"},
    {"type": "assistant", "message": None},
    {"type": "user", "message": {"content": [7, {"type": "tool_result"}]}},
    {
        "type": "control_request",
        "request": {"subtype": "can_use_tool", "permission_suggestions": [1, {"type": 3, "rules": 4}]},
    },
    {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "index": [1], "delta": {"type": "input_json_delta"}},
    },
]


@given(st.lists(mutated(LINES), max_size=30), st.booleans())
def test_dropped_repeated_reordered_and_mutated_lines_never_break_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)
