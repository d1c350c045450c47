"""Codex' app server: lines as the real binary (0.166) prints them, and as a hostile one might."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.gate.policy.policy_file import rules
from operable.host.arm import (
    Answer,
    CallWithdrawn,
    LateCall,
    Message,
    NeedsAuth,
    Noise,
    Opened,
    PeerError,
)
from operable.host.arms.codex_app_server import ARM
from operable.host.policy.judged_question import call_of
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    MAX_TOKENS,
    REFUSAL,
    AgentError,
    AgentPlan,
    AgentPrompt,
    Notice,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
    UsageUpdate,
)
from tests.host.arms.driving import feed, mutated, of_type, opened, sent, survives, text_of

HELLO = {"id": 1, "result": {"userAgent": "operable/0.166.0 (Debian 12)", "codexHome": "/h"}}
THREAD = {
    "id": 2,
    "result": {
        "thread": {"id": "th"},
        "model": "gpt-5.5",
        "approvalPolicy": "on-request",
        "sandbox": {"type": "readOnly"},
    },
}
STARTED = {"id": 3, "result": {"turn": {"id": "tu", "status": "inProgress"}}}
COMMAND = {
    "type": "commandExecution",
    "id": "c1",
    "command": "ls",
    "cwd": "/w",
    "status": "inProgress",
    "commandActions": [{"type": "read"}],
}
PATCH = {
    "type": "fileChange",
    "id": "c1",
    "status": "inProgress",
    "changes": [{"path": "/a", "kind": {"type": "add"}, "diff": "hi\n"}],
}
ASK = {
    "id": 0,
    "method": "item/commandExecution/requestApproval",
    "params": {
        "threadId": "th",
        "itemId": "c1",
        "reason": "May I?",
        "command": "ls",
        "cwd": "/w",
        "availableDecisions": [
            "accept",
            {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}},
            "cancel",
        ],
    },
}


def item(value, *, done=False, thread="th"):
    return {
        "method": "item/completed" if done else "item/started",
        "params": {"item": value, "threadId": thread, "turnId": "tu"},
    }


def note(method, **params):
    return {"method": method, "params": {"threadId": "th", "turnId": "tu", **params}}


def completed(status="completed", turn="tu", **fields):
    return note("turn/completed", turn={"id": turn, "status": status, **fields})


def counted(turn, total, last):
    def counters(tokens):
        return {
            "totalTokens": tokens[0] + tokens[1],
            "inputTokens": tokens[0],
            "outputTokens": tokens[1],
            "cachedInputTokens": tokens[2],
        }

    return note(
        "thread/tokenUsage/updated",
        turnId=turn,
        tokenUsage={"total": counters(total), "last": counters(last), "modelContextWindow": 1000},
    )


def talking(**options):
    connection = opened(ARM, **options)
    feed(connection, HELLO, THREAD)
    connection.send(Message("hello"))
    connection.outgoing()
    feed(connection, STARTED)
    return connection


def test_the_handshake_initializes_and_starts_a_thread_without_the_field_jsonrpc():
    connection = opened(ARM)
    (initialize,) = sent(connection)
    assert initialize["method"] == "initialize"
    assert "jsonrpc" not in initialize

    assert feed(connection, HELLO) == []
    initialized, start = sent(connection)
    assert initialized == {"method": "initialized"}
    assert (start["method"], start["params"]) == ("thread/start", {"cwd": "/work"})
    (happened,) = feed(connection, THREAD)
    assert isinstance(happened, Opened)
    assert (happened.agent_session_id, happened.agent_version, happened.current_model) == (
        "th",
        "0.166.0",
        "gpt-5.5",
    )
    expected = ("streaming", "tool_calls", "bidirectional", "resumable", "multimodal")
    assert happened.observed == dict.fromkeys(expected, True)


def test_a_thread_is_resumed_by_its_id():
    connection = opened(ARM, resume="th")
    connection.outgoing()
    feed(connection, HELLO)

    assert sent(connection)[1]["params"] == {"threadId": "th", "excludeTurns": True, "cwd": "/work"}
    assert sent(connection) == []


def test_mode_model_options_servers_and_history_go_into_the_thread():
    connection = opened(
        ARM,
        mode="auto",
        model="gpt-5.5",
        options={"effort": "high"},
        history="before",
        quirks={"thread": {"ephemeral": True}},
        mcp_servers=[
            {"name": "a", "command": "x", "env": {"K": "v"}},
            {"name": "b", "url": "http://h", "headers": [{"name": "H", "value": "v"}]},
        ],
    )
    connection.outgoing()
    feed(connection, HELLO)

    assert sent(connection)[1]["params"] == {
        "cwd": "/work",
        "approvalPolicy": "on-request",
        "sandbox": "workspace-write",
        "model": "gpt-5.5",
        "developerInstructions": "before",
        "ephemeral": True,
        "config": {
            "mcp_servers": {
                "a": {"command": "x", "args": [], "env": {"K": "v"}},
                "b": {"url": "http://h", "http_headers": {"H": "v"}},
            }
        },
    }
    feed(connection, THREAD)
    connection.send(Message("hello"))
    assert sent(connection)[0]["params"]["effort"] == "high"


@pytest.mark.parametrize(
    "options", [{"mode": "wild"}, {"options": {"wings": 2}}, {"options": {"sandbox": "none"}}]
)
def test_what_codex_cannot_be_told_is_refused(options):
    with pytest.raises(PeerError) as caught:
        feed(opened(ARM, **options), HELLO)

    assert caught.value.code == "select_failed"


def test_selections_take_effect_with_the_next_turn():
    connection = talking()
    assert connection.select(mode="full-access", model="m")
    assert connection.select(option=("effort", "low"))
    assert not connection.select(mode="wild")
    assert not connection.select()
    assert sent(connection) == []
    feed(connection, completed())
    connection.send(Message("again"))

    (line,) = sent(connection)
    assert line["params"] == {
        "threadId": "th",
        "input": [{"type": "text", "text": "again"}],
        "approvalPolicy": "never",
        "sandboxPolicy": {"type": "dangerFullAccess"},
        "model": "m",
        "effort": "low",
    }


@pytest.mark.parametrize(
    "options, answers, code",
    [
        ({}, [{"id": 1, "error": {"code": 1001, "message": "bad config"}}], "handshake_failed"),
        ({}, [HELLO, {"id": 2, "error": {"code": -32600, "message": "no"}}], "session_refused"),
        (
            {"resume": "x"},
            [HELLO, {"id": 2, "error": {"code": -32600, "message": "no such thread"}}],
            "resume_failed",
        ),
        ({}, [HELLO, {"id": 2, "result": {}}], "handshake_failed"),
    ],
)
def test_a_refused_handshake_is_given_up_with_its_reason(options, answers, code):
    with pytest.raises(PeerError) as caught:
        feed(opened(ARM, **options), *answers)

    assert caught.value.code == code


def test_a_missing_login_is_told_as_such():
    assert feed(opened(ARM), HELLO, {"id": 2, "error": {"message": "Authentication required"}}) == [
        NeedsAuth("Authentication required")
    ]


def test_a_turn_streams_text_and_thoughts_without_telling_them_twice():
    happened = feed(
        talking(),
        note("turn/started", turn={"id": "tu"}),
        item({"type": "userMessage", "id": "u"}),
        note("item/reasoning/summaryTextDelta", itemId="r", delta="hm"),
        item({"type": "reasoning", "id": "r", "summary": ["hm"]}, done=True),
        note("item/agentMessage/delta", itemId="m", delta="Hel"),
        note("item/agentMessage/delta", itemId="m", delta="lo"),
        item({"type": "agentMessage", "id": "m", "text": "Hello"}, done=True),
        completed(),
    )

    assert text_of(happened) == "Hello"
    assert of_type(happened, Thought) == [Thought("s1", "hm")]
    assert happened[-1] == TurnEnd("s1", COMPLETED)


def test_what_was_not_streamed_comes_from_the_whole_item():
    happened = feed(
        talking(),
        item({"type": "reasoning", "id": "r", "summary": ["a", "b"]}, done=True),
        note("item/agentMessage/delta", itemId="m", delta="Hel"),
        item({"type": "agentMessage", "id": "m", "text": "Hello"}, done=True),
    )

    assert text_of(happened) == "Hello"
    assert of_type(happened, Thought) == [Thought("s1", "a\n\nb")]


def test_images_and_files_go_with_the_message():
    connection = opened(ARM)
    feed(connection, HELLO, THREAD)
    connection.outgoing()
    connection.send(Message("look", files=["/a"], images=[("image/png", "eA==")]))

    assert sent(connection)[0]["params"]["input"] == [
        {"type": "text", "text": "look\n\n[Attached files]\n/a"},
        {"type": "image", "url": "data:image/png;base64,eA=="},
    ]


def test_a_command_is_a_call_that_executes_whatever_codex_thinks_of_it():
    happened = feed(
        talking(),
        item(COMMAND),
        item({**COMMAND, "status": "completed", "aggregatedOutput": "a\n", "exitCode": 0}, done=True),
    )

    assert happened == [
        ToolCall("s1", "c1", "shell", {"command": "ls", "cwd": "/w"}, "execute", "ls"),
        ToolResult("s1", "c1", "a\n"),
    ]


@pytest.mark.parametrize(
    "fields, is_error, denied",
    [
        ({"status": "failed", "exitCode": 1}, True, False),
        ({"status": "completed", "exitCode": 2}, True, False),
        ({"status": "declined"}, True, True),
    ],
)
def test_a_command_that_failed_or_was_declined_is_an_error(fields, is_error, denied):
    result = feed(talking(), item({**COMMAND, **fields}, done=True))[-1]

    assert isinstance(result, ToolResult)
    assert (result.is_error, result.denied) == (is_error, denied)


@pytest.mark.parametrize(
    "value, name, kind",
    [
        (PATCH, "apply_patch", "edit"),
        ({**PATCH, "changes": [{"path": "/a", "kind": {"type": "delete"}}]}, "apply_patch", "delete"),
        (
            {"type": "mcpToolCall", "id": "c1", "server": "s", "tool": "t", "arguments": {"a": 1}},
            "mcp__s__t",
            "other",
        ),
        ({"type": "webSearch", "id": "c1", "query": "q"}, "web_search", "fetch"),
        ({"type": "imageView", "id": "c1", "path": "/a"}, "view_image", "read"),
        ({"type": "dynamicToolCall", "id": "c1", "tool": "t"}, "t", "other"),
        (
            {"type": "collabAgentToolCall", "id": "c1", "tool": "spawnAgent", "prompt": "p"},
            "spawnAgent",
            "think",
        ),
    ],
)
def test_every_kind_of_work_is_a_call(value, name, kind):
    (call,) = feed(talking(), item(value))

    assert isinstance(call, ToolCall)
    assert (call.tool_name, call.kind) == (name, kind)


def test_results_of_mcp_servers_are_made_plain():
    value = {"type": "mcpToolCall", "id": "c1", "server": "s", "tool": "t", "status": "completed"}
    good = feed(
        talking(), item({**value, "result": {"content": [{"type": "text", "text": "x"}]}}, done=True)
    )[-1]
    bad = feed(talking(), item({**value, "error": {"message": "no"}}, done=True))[-1]

    assert good == ToolResult("s1", "c1", "x")
    assert bad == ToolResult("s1", "c1", "no", is_error=True)


def test_an_approval_is_a_question_about_the_call_with_all_that_may_be_answered():
    connection = talking()
    _, question = feed(connection, item(COMMAND), ASK)

    assert isinstance(question, AgentPrompt)
    assert (question.tool_name, question.arguments, question.call_id, question.text) == (
        "shell",
        {"command": "ls", "cwd": "/w"},
        "c1",
        "May I?",
    )
    assert [choice.id for choice in question.options] == ["accept", "rule-1", "cancel", "decline"]
    assert question.options[1].name == "Allow, and keep a rule (acceptWithExecpolicyAmendment): ls"


@pytest.mark.parametrize(
    "answer, decision",
    [
        (Answer(allowed=True), "accept"),
        (
            Answer(allowed=True, option_id="rule-1"),
            {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}},
        ),
        (Answer(allowed=True, option_id="unheard of"), "accept"),
        (Answer(allowed=False), "decline"),
        (Answer(allowed=True, option_id="decline"), "decline"),
        (Answer(allowed=False, cancelled=True), "cancel"),
    ],
)
def test_an_answer_is_sent_once_and_never_wider_than_it_was(answer, decision):
    connection = talking()
    feed(connection, item(COMMAND), ASK)
    connection.answer("q1", answer)
    connection.answer("q1", Answer(allowed=True))

    assert sent(connection) == [{"id": 0, "result": {"decision": decision}}]


def test_the_reason_of_a_denial_is_given_to_the_running_turn():
    connection = talking()
    feed(connection, item(COMMAND), ASK)
    connection.answer("q1", Answer(allowed=False, reason="not here"))
    answer, steer = sent(connection)

    assert answer == {"id": 0, "result": {"decision": "decline"}}
    assert steer["method"] == "turn/steer"
    assert steer["params"] == {
        "threadId": "th",
        "expectedTurnId": "tu",
        "input": [{"type": "text", "text": "The user denied this: not here"}],
    }
    assert feed(connection, {"id": steer["id"], "error": {"message": "no active turn"}}) == []
    happened = feed(connection, item({**COMMAND, "status": "declined"}, done=True))
    assert happened == [ToolResult("s1", "c1", "declined", is_error=True, denied=True)]


def test_a_patch_is_approved_with_the_changes_that_were_announced():
    connection = talking()
    request = {
        "id": 7,
        "method": "item/fileChange/requestApproval",
        "params": {"threadId": "th", "itemId": "c1"},
    }
    _, question = feed(connection, item(PATCH), request)

    assert isinstance(question, AgentPrompt)
    assert question.arguments == {"changes": [{"path": "/a", "kind": "add", "diff": "hi\n"}]}
    assert [choice.id for choice in question.options] == ["accept", "acceptForSession", "decline", "cancel"]


@pytest.mark.parametrize(
    "method, more",
    [
        ("item/fileChange/requestApproval", {"grantRoot": "/"}),
        ("item/commandExecution/requestApproval", {"additionalPermissions": {"network": {"enabled": True}}}),
        ("item/commandExecution/requestApproval", {"networkApprovalContext": {"host": "evil.example"}}),
        ("item/commandExecution/requestApproval", {"environmentId": "elsewhere"}),
        ("item/commandExecution/requestApproval", {"unheardOf": 1}),
    ],
)
def test_what_a_yes_would_grant_beside_the_call_is_part_of_the_question(method, more):
    params = {"threadId": "th", "itemId": "c1", **more}
    if method == "item/commandExecution/requestApproval":
        params |= {"command": "ls", "cwd": "/w"}
    *_, question = feed(talking(), item(PATCH), {"id": 7, "method": method, "params": params})

    assert isinstance(question, AgentPrompt)
    assert more.items() <= question.arguments.items()
    for policy in (rules(allow=["execute:ls", "edit:/a"]), rules(allow=["Other"])):
        assert policy.decide(call_of(question), "/w").effect == "deny"


def test_permissions_are_granted_as_asked_or_not_at_all():
    request = {
        "id": 7,
        "method": "item/permissions/requestApproval",
        "params": {"threadId": "th", "itemId": "p1", "permissions": {"network": {"enabled": True}}},
    }
    for answer, result in (
        (Answer(allowed=True), {"permissions": {"network": {"enabled": True}}, "scope": "turn"}),
        (
            Answer(allowed=True, option_id="acceptForSession"),
            {"permissions": {"network": {"enabled": True}}, "scope": "session"},
        ),
        (Answer(allowed=False), {"permissions": {}, "scope": "turn"}),
    ):
        connection = talking()
        feed(connection, request)
        connection.answer("q1", answer)
        assert sent(connection) == [{"id": 7, "result": result}]


def test_questions_of_a_tool_are_asked_with_a_schema():
    questions = [
        {"id": "q", "header": "h", "question": "Which?", "options": [{"label": "A", "description": ""}]},
        {"id": "r", "question": "Why?"},
    ]
    request = {
        "id": 7,
        "method": "item/tool/requestUserInput",
        "params": {"threadId": "th", "itemId": "i", "questions": questions},
    }
    connection = talking()
    (asked,) = feed(connection, request)
    assert isinstance(asked, AgentPrompt)
    assert (asked.text, asked.tool_name) == ("Which?\nWhy?", "")
    assert asked.schema["properties"]["q"] == {"type": "string", "title": "Which?", "examples": ["A"]}
    connection.answer("q1", Answer(allowed=True, content={"q": "A", "r": ["x", "y"]}))

    assert sent(connection) == [
        {"id": 7, "result": {"answers": {"q": {"answers": ["A"]}, "r": {"answers": ["x", "y"]}}}}
    ]


def test_what_an_mcp_server_asks_is_asked_where_the_host_can():
    request = {
        "id": 7,
        "method": "mcpServer/elicitation/request",
        "params": {
            "threadId": "th",
            "serverName": "s",
            "message": "name?",
            "requestedSchema": {"type": "object"},
        },
    }
    able, unable = talking(elicitation=True), talking()
    (asked,) = feed(able, request)
    assert isinstance(asked, AgentPrompt)
    able.answer("q1", Answer(allowed=True, content={"a": 1}))
    assert sent(able) == [{"id": 7, "result": {"action": "accept", "content": {"a": 1}}}]
    assert feed(unable, request) == []
    assert sent(unable) == [{"id": 7, "result": {"action": "decline"}}]


def test_a_request_that_nobody_serves_gets_an_error():
    connection = talking()
    feed(connection, {"id": "x", "method": "attestation/generate", "params": {}})

    (line,) = sent(connection)
    assert (line["id"], line["error"]["code"]) == ("x", -32601)


def test_a_request_that_codex_resolved_itself_is_withdrawn():
    connection = talking()
    feed(connection, item(COMMAND), ASK)

    assert feed(connection, note("serverRequest/resolved", requestId=0)) == [CallWithdrawn("q1")]


def test_cancel_answers_what_is_open_interrupts_and_sends_no_late_approval():
    connection = talking()
    feed(connection, item(COMMAND), ASK)
    connection.cancel()
    connection.cancel()
    connection.answer("q1", Answer(allowed=True))
    answer, interrupt = sent(connection)

    assert answer == {"id": 0, "result": {"decision": "cancel"}}
    assert (interrupt["method"], interrupt["params"]) == (
        "turn/interrupt",
        {"threadId": "th", "turnId": "tu"},
    )
    happened = feed(connection, {**ASK, "id": 1}, completed("interrupted"))
    assert sent(connection) == [{"id": 1, "result": {"decision": "cancel"}}]
    assert of_type(happened, AgentPrompt) == []
    assert happened[-1] == TurnEnd("s1", CANCELLED, "interrupted")


def test_a_turn_without_an_id_is_interrupted_as_soon_as_it_has_one():
    connection = opened(ARM)
    feed(connection, HELLO, THREAD)
    connection.send(Message("hello"))
    connection.outgoing()
    connection.cancel()
    assert sent(connection) == []
    feed(connection, STARTED)

    assert [line["method"] for line in sent(connection)] == ["turn/interrupt"]


def test_a_command_that_outlives_its_turn_is_a_notice():
    connection = talking()
    feed(connection, item(COMMAND), completed("interrupted"))
    late = item({**COMMAND, "status": "completed", "exitCode": 0}, done=True)

    assert [event.code for event in of_type(feed(connection, late), Notice)] == ["late_tool_result"]
    connection.send(Message("again"))
    assert [event.code for event in of_type(feed(connection, late), Notice)] == ["late_tool_result"]


@pytest.mark.parametrize("status, failed", [("completed", False), ("failed", True), ("declined", True)])
def test_a_command_that_ends_between_turns_is_judged_by_how_it_ended(status, failed):
    connection = talking()
    feed(connection, item(COMMAND), completed("interrupted"))

    (late,) = of_type(feed(connection, item({**COMMAND, "status": status}, done=True)), LateCall)
    new = of_type(feed(connection, item({**COMMAND, "id": "new", "status": status}, done=True)), LateCall)

    assert late.about.is_error is failed
    assert [type(each.about) for each in new] == [ToolCall, ToolResult]
    assert new[0].about.kind == "execute"
    assert new[1].about.is_error is failed


@pytest.mark.parametrize(
    "info, reason, code",
    [
        ("other", ERROR, "agent_error"),
        ("unauthorized", ERROR, "auth_required"),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, ERROR, "rate_limited"),
        ({"httpConnectionFailed": {"httpStatusCode": 503}}, ERROR, "model_error"),
        ("contextWindowExceeded", MAX_TOKENS, "agent_error"),
        ("cyberPolicy", REFUSAL, "agent_error"),
    ],
)
def test_a_failed_turn_says_why_once(info, reason, code):
    error = {"message": "no", "codexErrorInfo": info}
    happened = feed(talking(), note("error", error=error, willRetry=False), completed("failed", error=error))
    alone = feed(talking(), completed("failed", error=error))

    for events in (happened, alone):
        assert [event.error.code for event in of_type(events, AgentError)] == [code]
        assert events[-1] == TurnEnd("s1", reason, "failed")


def test_a_retry_is_a_notice_and_a_refused_turn_an_error():
    connection = talking()
    (retry,) = feed(connection, note("error", error={"message": "Reconnecting... 1/2"}, willRetry=True))
    assert isinstance(retry, Notice)
    feed(connection, completed())
    connection.send(Message("again"))
    number = sent(connection)[-1]["id"]

    happened = feed(connection, {"id": number, "error": {"message": "thread is gone"}})
    assert [type(event) for event in happened] == [AgentError, TurnEnd]


def test_usage_is_told_per_turn_also_in_a_resumed_thread():
    connection = talking()
    first = feed(
        connection,
        counted("tu", (150, 20, 50), (150, 20, 50)),
        counted("tu", (300, 40, 100), (150, 20, 50)),
        completed(),
    )
    assert of_type(first, UsageUpdate)[0] == UsageUpdate("s1", 170, 1000, 150, 20)
    assert first[-1].usage == Usage(200, 40, 100)  # type: ignore[union-attr]

    resumed = opened(ARM, resume="th")
    feed(resumed, HELLO, THREAD)
    resumed.send(Message("on"))
    happened = feed(
        resumed,
        counted("old", (300, 40, 0), (1, 1, 0)),
        STARTED,
        counted("tu", (400, 60, 0), (100, 20, 0)),
        completed(),
    )
    assert happened[-1].usage == Usage(100, 20)  # type: ignore[union-attr]


def test_other_threads_and_earlier_turns_do_not_touch_this_one():
    connection = talking()
    happened = feed(
        connection,
        {"method": "item/agentMessage/delta", "params": {"threadId": "sub", "itemId": "m", "delta": "inner"}},
        {
            "method": "turn/completed",
            "params": {"threadId": "sub", "turn": {"id": "x", "status": "completed"}},
        },
        completed(turn="earlier"),
        item({"type": "agentMessage", "id": "m", "text": "inner"}, done=True, thread="sub"),
        item({**COMMAND, "id": "c9"}, thread="sub"),
    )

    assert [type(event) for event in happened] == [ToolCall]
    assert feed(connection, completed())[-1] == TurnEnd("s1", COMPLETED)


def test_plans_warnings_and_compactions_are_told_beside_the_seven():
    happened = feed(
        talking(),
        note(
            "turn/plan/updated",
            plan=[{"step": "a", "status": "inProgress"}, {"step": "b", "status": "pending"}],
        ),
        note("warning", message="careful"),
        {"method": "configWarning", "params": {"summary": "odd"}},
        item({"type": "contextCompaction", "id": "x"}, done=True),
        {"method": "account/rateLimits/updated", "params": {}},
    )

    (plan,) = of_type(happened, AgentPlan)
    assert [(entry.content, entry.status) for entry in plan.entries] == [
        ("a", "in_progress"),
        ("b", "pending"),
    ]
    assert [notice.message for notice in of_type(happened, Notice)] == [
        "careful",
        "odd",
        "Codex compacted its context.",
    ]


def test_lines_that_are_no_messages_are_noise():
    assert [type(event) for event in feed(talking(), b"oops", {"x": 1})] == [Noise, Noise]
    assert feed(talking(), {"id": 99, "result": {}}, {"id": None, "error": {}}) == []


LINES = [
    STARTED,
    item(COMMAND),
    item({**COMMAND, "status": "completed", "aggregatedOutput": "x", "exitCode": 0}, done=True),
    item(PATCH),
    item(
        {
            "type": "mcpToolCall",
            "id": "c2",
            "server": "s",
            "tool": "t",
            "result": {"content": [{"type": "text"}]},
        },
        done=True,
    ),
    ASK,
    {"id": 7, "method": "item/permissions/requestApproval", "params": {"itemId": "p", "permissions": {}}},
    {
        "id": 8,
        "method": "item/tool/requestUserInput",
        "params": {"itemId": "i", "questions": [{"id": "a", "options": [{"label": "x"}]}]},
    },
    note("item/agentMessage/delta", itemId="m", delta="x"),
    item({"type": "agentMessage", "id": "m", "text": "xy"}, done=True),
    note("turn/plan/updated", plan=[{"step": "a", "status": "inProgress"}]),
    counted("tu", (1, 1, 0), (1, 1, 0)),
    note("error", error={"message": "x", "codexErrorInfo": {"a": {"httpStatusCode": 429}}}),
    note("serverRequest/resolved", requestId=0),
    completed("failed", error={"message": "x"}),
    completed(),
]


@given(st.lists(mutated(LINES), max_size=30), st.booleans())
def test_dropped_repeated_reordered_and_mutated_lines_never_break_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)


def test_the_end_of_the_process_ends_the_turn():
    connection = talking()
    feed(connection, item(COMMAND), ASK)
    happened = connection.eof(1)

    assert [type(event) for event in happened] == [AgentError, CallWithdrawn, ToolResult, TurnEnd]


@pytest.mark.parametrize(
    "line",
    [b'{"id":9,"method":"x","params":{"a":"\\ud800"}}', b'[{"id":9,"method":"x"}]', b'{"id":9,"method":"x",'],
)
def test_a_request_that_cannot_be_read_gets_an_answer(line):
    connection = talking()
    sent(connection)

    (noise,) = feed(connection, line)

    assert isinstance(noise, Noise)
    (answer,) = sent(connection)
    assert (answer["id"], answer["error"]["code"]) == (9, -32600)
