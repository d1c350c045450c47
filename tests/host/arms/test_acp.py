"""The ACP arm in turns; every line that it writes is validated against the published schema."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import (
    CallWithdrawn,
    LateCall,
    Message,
    Noise,
    Opening,
    PeerError,
)
from operable.kernel.errors import Fail
from operable.wire.events import (
    AgentPlan,
    ModeChange,
    Notice,
    PlanEntry,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
    UsageUpdate,
)
from tests.host.arms.acp_talk import CALL, CONFIG, FORM, MODES, OPTIONS, Talk, feed, plain, talking
from tests.host.arms.driving import mutated, of_type, survives, text_of
from tests.requirement import requirement

# --- a turn --------------------------------------------------------------------------------------------------------------


def test_a_message_carries_text_links_to_files_and_images():
    talk = Talk(cwd="/work")
    talk.ready()

    talk.connection.send(Message("look", files=["a b.txt", "/etc/hosts"], images=[("image/png", "aGk=")]))

    assert talk.one()["params"]["prompt"] == [
        {"type": "text", "text": "look"},
        {"type": "resource_link", "uri": "file:///work/a%20b.txt", "name": "a b.txt"},
        {"type": "resource_link", "uri": "file:///etc/hosts", "name": "hosts"},
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
    ]


def test_images_are_refused_before_anything_is_sent_when_the_agent_takes_none():
    talk = Talk()
    talk.ready(agentCapabilities={})

    with pytest.raises(Fail) as raised:
        talk.connection.send(Message("look", images=[("image/png", "aGk=")]))

    assert raised.value.code == "IMAGES_UNSUPPORTED"
    assert talk.written() == []
    talk.send()


@requirement("aip45:events:text-delta", "aip45:events:thought")
def test_text_and_thoughts_are_streamed():
    talk = talking()
    chunk = {"type": "text", "text": "Hel"}

    assert talk.update("agent_message_chunk", content=chunk, messageId="m1") == [TextDelta("s1", "Hel", "m1")]
    assert talk.update("agent_thought_chunk", content=chunk) == [Thought("s1", "Hel")]
    assert talk.update("user_message_chunk", content=chunk) == []  # an echo of ours


@pytest.mark.parametrize(
    "content, expected",
    [
        ({"type": "resource_link", "uri": "file:///a", "name": "a"}, [TextDelta("s1", "[a](file:///a)")]),
        ({"type": "resource", "resource": {"uri": "x", "text": "inside"}}, [TextDelta("s1", "inside")]),
        (
            {"type": "image", "mimeType": "image/png", "data": "aGk="},
            [
                Notice(
                    "media",
                    "The agent shows image.",
                    "s1",
                    {"kind": "image", "mediaType": "image/png", "data": "aGk="},
                )
            ],
        ),
    ],
)
def test_content_that_is_not_text_is_said_in_words_or_noticed(content, expected):
    assert talking().update("agent_message_chunk", content=content) == expected


def test_facts_ride_as_extensions():
    talk = talking()

    assert talk.update("plan", entries=[{"content": "a", "priority": "high", "status": "pending"}]) == [
        AgentPlan("s1", (PlanEntry("a", "high", "pending"),))
    ]
    assert talk.update("usage_update", used=5, size=10, cost={"amount": 0.5, "currency": "USD"}) == [
        UsageUpdate("s1", 5, 10, cost=0.5)
    ]
    assert talk.update("current_mode_update", currentModeId="plan") == [ModeChange("s1", mode="plan")]
    (changed,) = talk.update("config_option_update", configOptions=CONFIG)
    assert (changed.model, changed.options) == ("small", {"model": "small", "web": False})
    (commands,) = talk.update(
        "available_commands_update", availableCommands=[{"name": "init", "description": "x"}]
    )
    assert (commands.code, commands.data) == ("commands", ["init"])
    assert talk.update("session_info_update", title="A title") == [Notice("title", "A title", "s1")]
    assert talk.update("session_info_update", _meta={"x": 1}) == []
    assert talk.update("notice", severity="warning", title="Slow") == [
        Notice("agent", "Slow", "s1", {"severity": "warning"})
    ]


def test_an_update_of_a_kind_that_is_not_known_is_noticed():
    assert talking().update("hologram", data=1) == [Notice("unknown_update", "hologram", "s1")]


@pytest.mark.parametrize(
    "update",
    [{"sessionUpdate": "agent_message_chunk"}, {"sessionUpdate": "tool_call"}, {"sessionUpdate": 3}, {}, []],
)
def test_an_update_that_breaks_its_own_rules_is_noise(update):
    talk = talking()

    (noise,) = talk.notify("session/update", {"sessionId": "agent-1", "update": update})

    assert isinstance(noise, Noise)
    assert noise.reason == "malformed_update"
    assert of_type(talk.stop(), TurnEnd)


def test_an_update_of_another_session_is_no_part_of_the_turn():
    talk = talking()
    talk.agent_id = "sub-agent"

    assert talk.say("from elsewhere") == [Notice("other_session", "agent_message_chunk", "s1")]


@requirement("aip45:events:turn-end")
@pytest.mark.parametrize(
    "word, reason, stop",
    [
        ("end_turn", "completed", None),
        ("cancelled", "cancelled", None),
        ("refusal", "refusal", None),
        ("max_tokens", "max_tokens", None),
        ("max_turn_requests", "max_turns", None),
        ("paused_by_vendor", "completed", "paused_by_vendor"),
    ],
)
def test_the_reason_of_the_end_is_kept(word, reason, stop):
    assert talking().stop(word) == [TurnEnd("s1", reason, stop)]


def test_an_answer_without_a_reason_ends_the_turn_all_the_same():
    talk = talking()

    assert feed(talk.connection, {"id": talk.prompt_id, "result": None}) == [TurnEnd("s1", "completed")]


@pytest.mark.parametrize(
    "more, usage",
    [
        (
            {"usage": {"inputTokens": 1, "outputTokens": 2, "cachedReadTokens": 3, "cachedWriteTokens": 4}},
            Usage(1, 2, 3, 4),
        ),
        ({"_meta": {"quota": {"token_count": {"input_tokens": 5, "output_tokens": 6}}}}, Usage(5, 6)),
        ({"usage": "much"}, None),
    ],
)
def test_tokens_are_counted_where_the_agent_says_them(more, usage):
    (end,) = talking().stop(**more)

    assert end.usage == usage


@requirement("aip45:events:error")
@pytest.mark.parametrize(
    "number, code, retryable",
    [
        (-32000, "auth_required", False),
        (401, "auth_required", False),
        (-32602, "invalid_request", False),
        (-32603, "agent_error", False),
        (-31002, "agent_error", False),
        (400, "model_error", False),
        (429, "rate_limited", True),
        (503, "model_error", True),
    ],
)
def test_a_turn_that_fails_says_why_with_a_code_of_ours(number, code, retryable):
    error, end = talking().fail(number)

    assert (error.error.code, error.error.retryable, error.error.message) == (code, retryable, "went wrong")
    assert error.error.data == {"rpcCode": number}
    assert end == TurnEnd("s1", "error")


def test_one_turn_at_a_time():
    talk = talking()

    with pytest.raises(Fail) as raised:
        talk.connection.send(Message("again"))

    assert raised.value.code == "TURN_RUNNING"
    talk.stop()
    talk.send("again")


def test_nothing_is_sent_before_the_session_is_open():
    talk = Talk()

    with pytest.raises(Fail) as raised:
        talk.connection.send(Message("hi"))

    assert raised.value.code == "SESSION_NOT_OPEN"


def test_what_comes_after_the_end_of_the_turn_is_late():
    talk = talking()
    talk.update("tool_call", toolCallId="t1", title="sleep", kind="execute", status="in_progress")
    talk.stop("cancelled")

    late = talk.say("more")
    late += talk.update("tool_call_update", toolCallId="t1", status="completed", rawOutput="done")
    late += talk.update("tool_call_update", toolCallId="t1", status="in_progress")
    late += talk.stop()

    notices = [event for event in late if isinstance(event, Notice)]
    assert [event.code for event in notices] == ["late_text", "late_result", "unexpected_response"]
    assert notices[1].data == {"toolCallId": "t1", "status": "completed", "result": "done"}
    judged = [event for event in late if not isinstance(event, Notice)]
    assert judged == [LateCall(ToolResult("s1", "t1", "done"))]


def test_a_call_that_is_told_while_no_turn_runs_is_a_notice_and_is_given_to_be_judged():
    talk = talking()
    talk.stop()

    told = talk.update(
        "tool_call", toolCallId="t1", title="rm x", kind="execute", rawInput={"command": "rm x"}
    )
    told += talk.update("tool_call_update", toolCallId="t1", status="completed", rawOutput="gone")

    assert [event.code for event in told if isinstance(event, Notice)] == ["late_tool_call", "late_result"]
    call, result = (event.about for event in told if isinstance(event, LateCall))
    assert isinstance(call, ToolCall)
    assert (call.kind, call.arguments) == ("execute", {"command": "rm x"})
    assert result == ToolResult("s1", "t1", "gone")


def test_a_call_that_began_between_turns_is_not_a_call_of_the_next_turn():
    talk = talking()
    talk.stop()
    began = talk.update("tool_call", toolCallId="t1", title="rm x", kind="execute", status="in_progress")
    talk.send("again")

    ended = talk.update("tool_call_update", toolCallId="t1", status="completed", rawOutput="gone")

    assert [type(event) for event in (*began, *ended)] == [Notice, LateCall, Notice, LateCall]
    assert ended[1] == LateCall(ToolResult("s1", "t1", "gone"))
    assert [type(event) for event in talk.stop()] == [TurnEnd]


# --- choosing, closing, the end ------------------------------------------------------------------------------------------


def test_a_mode_is_chosen_and_its_change_told():
    talk = Talk()
    talk.ready({"modes": MODES, "configOptions": CONFIG})

    assert talk.connection.select(mode="plan")
    assert talk.respond(talk.one(), {}) == [
        ModeChange("s1", "plan", "small", {"model": "small", "web": False})
    ]
    assert talk.connection.select(option=("web", True))
    (changed,) = talk.respond(talk.one(), {"configOptions": [CONFIG[0], {**CONFIG[1], "currentValue": True}]})
    assert changed.options["web"] is True


def test_models_are_chosen_by_the_method_that_the_agent_has():
    talk = Talk()
    models = {
        "currentModelId": "a",
        "availableModels": [{"modelId": "a", "name": "A"}, {"modelId": "b", "name": "B"}],
    }
    talk.ready({"models": models})

    assert talk.connection.select(model="b")
    request = talk.one()

    assert (request["method"], request["params"]["modelId"]) == ("session/set_model", "b")
    assert talk.respond(request, {})[0].model == "b"


@pytest.mark.parametrize("wish", [{"mode": "yolo"}, {"model": "x"}, {"option": ("x", 1)}])
def test_what_the_agent_does_not_have_cannot_be_chosen(wish):
    talk = Talk()
    talk.ready({"modes": MODES})

    assert not talk.connection.select(**wish)
    assert talk.written() == []


def test_a_choice_that_the_agent_refuses_is_noticed():
    talk = Talk()
    talk.ready({"modes": MODES})
    talk.connection.select(mode="plan")

    assert talk.respond(talk.one(), code=-32602, message="no") == [Notice("select_failed", "no", "s1")]


@requirement("aip45:lifecycle:close-session")
def test_a_session_is_closed_where_the_agent_knows_how():
    talk, other = Talk(), Talk()
    talk.ready()
    other.ready(agentCapabilities={})

    talk.connection.close()
    other.connection.close()

    assert talk.one()["method"] == "session/close"
    assert other.written() == []
    with pytest.raises(Fail):
        talk.connection.send(Message("hi"))


def test_an_agent_that_ends_in_a_turn_leaves_nothing_open():
    talk = talking(fs_read=True)
    ask = talk.ask(CALL)[-1]
    talk.call("fs/read_text_file", {"sessionId": "agent-1", "path": "a"}, request_id=1)

    happened = talk.connection.eof(137)

    assert happened[:2] == [CallWithdrawn(ask.tool_call_id), CallWithdrawn("call-2")]
    result, error, end = happened[2:]
    assert isinstance(result, ToolResult)
    assert (error.error.code, end) == ("agent_exited", TurnEnd("s1", "error"))
    assert "137" in error.error.message
    assert talk.written() == []
    assert talk.connection.eof(0) == []
    assert talk.say("ghost") == []


def test_an_agent_that_ends_before_it_was_ready_says_so():
    (error,) = Talk().connection.eof(1)

    assert error.error.code == "agent_exited"


def test_an_agent_that_ends_between_turns_is_no_error():
    talk = Talk()
    talk.ready()

    assert talk.connection.eof(0) == []


def test_noise_is_passed_on_in_part():
    talk = talking()

    (noise,) = talk.connection.receive(b"x" * 1_000_000)

    assert (len(noise.line), noise.reason) == (4096, "not_json")
    assert feed(talk.connection, b"") == [Noise(b"", "blank")]


UNREADABLE = [
    b'{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":{"path":"/a\\ud800"}}',
    b'{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"title":"\\udfff"}}',
    b'{"jsonrpc":"2.0","id":"q","method":"x","params":{"a":NaN}}',
    b'{"jsonrpc":"2.0","id":"q","method":5}',
    b'[{"jsonrpc":"2.0","id":"q","method":"x"}]',
    b'{"jsonrpc":"2.0","id":"q","method":"x","params":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
]


@pytest.mark.parametrize("line", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_request_that_cannot_be_read_gets_an_answer(line):
    talk = talking()
    talk.written()

    (noise,) = talk.connection.receive(line)

    assert isinstance(noise, Noise)
    answer = talk.one()
    assert answer["id"] == "q"
    assert answer["error"]["code"] in (-32600, -32700)


@pytest.mark.parametrize("text", ['{"stopReason":"\\ud800"}', '{"stopReason":', "NaN"])
def test_a_turn_whose_end_cannot_be_read_has_failed_and_does_not_wait(text):
    talk = talking()

    happened = talk.connection.receive(f'{{"jsonrpc":"2.0","id":{talk.prompt_id},"result":{text}}}'.encode())

    assert [end.reason for end in of_type(happened, TurnEnd)] == ["error"]


def test_an_agent_that_could_not_read_a_line_of_ours_is_heard():
    talk = talking()

    (notice,) = feed(talk.connection, {"id": None, "error": {"code": -32700, "message": "Parse error"}})

    assert (notice.code, notice.message) == ("unexpected_response", "Parse error")


def test_events_are_plain_values():
    talk = talking()
    happened = talk.ask(CALL)
    happened += talk.stop()

    told = [plain(event) for event in happened if not isinstance(event, CallWithdrawn)]
    assert [event["type"] for event in told] == ["tool-call", "agent-prompt", "tool-result", "turn-end"]
    assert "sessionUpdate" not in str(told)


def test_a_connection_is_opened_once():
    talk = Talk()

    with pytest.raises(Fail):
        talk.connection.open(Opening("/work", "s1"))


def test_two_turns_in_one_session():
    talk = talking()
    first = [*talk.say("one"), *talk.stop()]
    talk.send()
    second = [*talk.say("two"), *talk.stop()]

    assert (text_of(first), text_of(second)) == ("one", "two")


def _said(kind, /, **fields):
    update = {"sessionUpdate": kind, **fields}
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "agent-1", "update": update},
    }


# Everything an agent may say in a turn, for damage of every kind.
SAID = [
    _said("agent_message_chunk", content={"type": "text", "text": "a"}),
    _said("agent_thought_chunk", content={"type": "resource", "resource": {"text": "b"}}),
    _said("tool_call", **CALL, status="pending", content=[{"type": "diff", "path": "/a", "newText": "b"}]),
    _said("tool_call_update", toolCallId="t1", status="in_progress", locations=[{"path": "/a", "line": 1}]),
    _said("tool_call_update", toolCallId="t1", status="completed", rawOutput={"ok": True}),
    _said("plan", entries=[{"content": "a", "priority": "low", "status": "pending"}]),
    _said("usage_update", used=1, size=2, cost={"amount": 1, "currency": "USD"}),
    _said("config_option_update", configOptions=CONFIG),
    _said("available_commands_update", availableCommands=[{"name": "a", "description": "b"}]),
    {"id": 0, "method": "session/request_permission", "params": {"toolCall": CALL, "options": OPTIONS}},
    {"id": "f", "method": "fs/read_text_file", "params": {"path": "/a"}},
    {"id": 1, "method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}},
    {"method": "$/cancel_request", "params": {"requestId": 0}},
    {"id": 3, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 1}, "_meta": {"quota": {}}}},
    {"id": 3, "error": {"code": -32000, "message": "login"}},
]


@given(lines=st.lists(mutated(SAID), max_size=12), cancels=st.booleans())
def test_whatever_an_agent_says_every_promise_is_kept(lines, cancels):
    survives(talking(fs_read=True, elicitation=True).connection, lines, cancels=cancels)


OPENINGS = [
    {
        "id": 1,
        "result": {
            "protocolVersion": 1,
            "agentCapabilities": {"loadSession": True},
            "authMethods": [{"id": "a"}],
        },
    },
    {"id": 1, "error": {"code": -32022, "message": "no", "data": {"supported": [2]}}},
    {
        "id": 2,
        "result": {
            "sessionId": "s",
            "modes": MODES,
            "configOptions": CONFIG,
            "models": {"availableModels": []},
        },
    },
    {"id": 2, "error": {"code": -32000, "message": "login"}},
    {"id": 3, "result": {}},
    {"id": 4, "result": {"configOptions": CONFIG}},
]


@given(
    lines=st.lists(mutated(OPENINGS), max_size=10),
    resume=st.none() | st.just("s"),
    mode=st.none() | st.just("plan"),
)
def test_whatever_an_agent_answers_the_handshake_ends_or_is_refused(lines, resume, mode):
    talk = Talk(resume=resume, mode=mode, auth_method="a")
    with contextlib.suppress(PeerError):
        for line in lines:
            talk.connection.receive(line)

    talk.connection.eof(0)
    assert not talk.connection.select(mode="ask")
