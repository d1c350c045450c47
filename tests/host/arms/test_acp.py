"""The ACP arm, conversation by conversation; every line that it writes is validated against the published schema."""

import pytest

from operable.host.arm import (
    Answer,
    CallWithdrawn,
    ClientCall,
    KnownSession,
    Listed,
    Message,
    NeedsAuth,
    Noise,
    Opened,
    Opening,
    PeerError,
)
from operable.kernel.errors import Fail
from operable.wire.events import (
    AgentError,
    AgentPrompt,
    ModeChange,
    Notice,
    Plan,
    PlanEntry,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
    UsageUpdate,
)
from tests.host.arms.acp_talk import OPTIONS, Talk, plain, talking
from tests.host.arms.driving import check_order, feed, of_type, sent, text_of
from tests.requirement import requirement

MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}],
}
CONFIG = [
    {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "small",
        "options": [
            {
                "group": "g",
                "name": "G",
                "options": [{"value": "small", "name": "S"}, {"value": "big", "name": "B"}],
            }
        ],
    },
    {"id": "web", "name": "Web", "type": "boolean", "currentValue": False},
]


# --- the handshake -------------------------------------------------------------------------------------------------------


def test_only_what_the_host_grants_is_offered():
    granted = Talk(fs_read=True, terminal=True, elicitation=True).one()["params"]
    nothing = Talk().one()["params"]

    assert granted["protocolVersion"] == 1
    assert granted["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": False}
    assert granted["clientCapabilities"]["terminal"] is True
    assert granted["clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}
    assert nothing["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert "elicitation" not in nothing["clientCapabilities"]


@requirement("aip45:lifecycle:open-session")
def test_a_new_session_is_opened_in_the_workspace_with_the_tool_servers():
    servers = [
        {"name": "files", "command": "/bin/files", "args": ["-v"], "env": {"A": "1"}},
        {"name": "web", "transport": "http", "url": "https://x.example/mcp", "headers": {"X": "y"}},
    ]
    talk = Talk(cwd="/work", mcp_servers=servers)

    request = talk.initialized()

    assert request["method"] == "session/new"
    assert request["params"]["cwd"] == "/work"
    assert request["params"]["mcpServers"] == [
        {"name": "files", "command": "/bin/files", "args": ["-v"], "env": [{"name": "A", "value": "1"}]},
        {
            "type": "http",
            "name": "web",
            "url": "https://x.example/mcp",
            "headers": [{"name": "X", "value": "y"}],
        },
    ]


def test_a_tool_server_that_the_agent_cannot_reach_is_refused():
    talk = Talk(mcp_servers=[{"name": "old", "transport": "sse", "url": "https://x.example"}])

    with pytest.raises(PeerError) as raised:
        talk.initialized()

    assert raised.value.code == "mcp_transport_unsupported"


def test_what_the_agent_said_about_itself_is_told():
    talk = Talk()

    told = talk.ready(
        {"modes": MODES, "configOptions": CONFIG}, agentInfo={"name": "goose", "version": "1.50.0"}
    )

    assert told == Opened(
        "agent-1",
        "goose",
        "1.50.0",
        "1",
        told.capabilities,
        ("ask", "plan"),
        "ask",
        ("small", "big"),
        "small",
        {"model": "small", "web": False},
        ("key",),
        {"resumable": True, "multimodal": True},
    )
    assert told.capabilities["session.list"] is True
    assert told.capabilities["mcp.sse"] is False


@pytest.mark.parametrize("number", [0, 1, 2, 99, "1", None])
def test_the_version_is_known_by_shape_because_some_agents_repeat_any_number(number):
    talk = Talk(quirks={"acp_version": 2})
    (request,) = sent(talk.connection)  # in the shape of version 2
    assert request["params"]["protocolVersion"] == 2

    talk.respond(request, {"protocolVersion": number, "agentCapabilities": {}})
    told = talk.respond(talk.one(), {"sessionId": "a"})

    assert of_type(told, Opened)[0].protocol_version == "1"


def test_an_agent_that_knows_only_version_1_is_asked_again():
    talk = Talk(quirks={"acp_version": 2})
    (request,) = sent(talk.connection)

    talk.respond(request, code=-32602, message="Invalid params")
    again = talk.one()

    assert (again["method"], again["params"]["protocolVersion"]) == ("initialize", 1)
    with pytest.raises(PeerError, match="refused to initialize"):
        talk.respond(again, code=-32602, message="Invalid params")


def test_a_login_is_tried_only_when_the_agent_asks_for_it():
    talk = Talk(auth_method="key")
    opening = talk.initialized()

    assert talk.respond(opening, code=-32000, message="Authentication required") == []
    login = talk.one()
    assert (login["method"], login["params"]) == ("authenticate", {"methodId": "key"})
    talk.respond(login, {})
    again = talk.one()

    assert again["method"] == "session/new"
    assert of_type(talk.respond(again, {"sessionId": "a"}), Opened)


def test_without_a_way_to_log_in_the_host_is_told_which_there_are():
    talk = Talk()

    told = talk.respond(talk.initialized(), code=-32000, message="Authentication required")

    assert told == [NeedsAuth("Authentication required", ("key",))]


def test_a_login_that_fails_or_does_not_help_is_told_and_not_repeated():
    talk = Talk(auth_method="key")
    talk.respond(talk.initialized(), code=-32000, message="login")
    login = talk.one()
    talk.respond(login, {})

    assert talk.respond(talk.one(), code=-32000, message="still") == [NeedsAuth("still", ("key",))]
    assert talk.written() == []


@pytest.mark.parametrize(
    "result, error, code",
    [
        (None, {"code": -32603, "message": "cwd must be absolute"}, "session_refused"),
        ({}, {}, "handshake_failed"),
        ({"sessionId": 7}, {}, "handshake_failed"),
        ([1], {}, "session_refused"),
    ],
)
def test_a_session_that_does_not_open_ends_the_handshake(result, error, code):
    talk = Talk()
    request = talk.initialized()

    with pytest.raises(PeerError) as raised:
        talk.respond(request, result, **error)

    assert raised.value.code == code


def test_mode_model_and_options_are_chosen_before_the_session_is_told_open():
    talk = Talk(mode="plan", model="big", options={"web": True})
    request = talk.initialized()

    assert talk.respond(request, {"sessionId": "agent-1", "modes": MODES, "configOptions": CONFIG}) == []
    mode, model, web = talk.written()
    assert (mode["method"], mode["params"]["modeId"]) == ("session/set_mode", "plan")
    assert (model["params"]["configId"], model["params"]["value"]) == ("model", "big")
    assert (web["params"]["type"], web["params"]["value"]) == ("boolean", True)
    assert talk.respond(mode, {}) == []
    changed = [{**CONFIG[0], "currentValue": "big"}, CONFIG[1]]
    assert talk.respond(model, {"configOptions": changed}) == []
    (told,) = talk.respond(web, {"configOptions": [changed[0], {**CONFIG[1], "currentValue": True}]})

    assert (told.current_mode, told.current_model) == ("plan", "big")
    assert told.config_options == {"model": "big", "web": True}


@pytest.mark.parametrize(
    "wanted",
    [
        {"mode": "yolo"},
        {"model": "huge"},
        {"options": {"web": "yes"}},
        {"options": {"model": "x"}},
        {"options": {"n": 1}},
    ],
)
def test_a_wish_that_the_agent_does_not_know_is_refused_and_not_passed_over(wanted):
    talk = Talk(**wanted)
    request = talk.initialized()

    with pytest.raises(PeerError) as raised:
        talk.respond(request, {"sessionId": "a", "modes": MODES, "configOptions": CONFIG})

    assert raised.value.code == "select_failed"


def test_a_wish_that_the_agent_refuses_ends_the_handshake():
    talk = Talk(mode="plan")
    talk.respond(talk.initialized(), {"sessionId": "a", "modes": MODES})

    with pytest.raises(PeerError, match="refused to choose plan"):
        talk.respond(talk.one(), code=-32602, message="Invalid mode")


# --- earlier sessions ----------------------------------------------------------------------------------------------------


def test_a_session_is_taken_up_silently_where_the_agent_can():
    talk = Talk(resume="old")
    talk.agent_id = "old"

    request = talk.initialized()

    assert (request["method"], request["params"]["sessionId"]) == ("session/resume", "old")
    assert of_type(talk.respond(request, {}), Opened)[0].agent_session_id == "old"


def _loading():
    talk = Talk(resume="old")
    talk.agent_id = "old"
    request = talk.initialized(agentCapabilities={"loadSession": True})
    assert request["method"] == "session/load"
    return talk, request


def test_history_that_is_replayed_is_marked_and_never_looks_new():
    talk, request = _loading()
    replayed = talk.update("user_message_chunk", content={"type": "text", "text": "before"})
    replayed += talk.say("said before")
    replayed += talk.update("agent_thought_chunk", content={"type": "text", "text": "thought before"})
    replayed += talk.update("tool_call", toolCallId="t1", title="Read", status="completed")
    told = talk.respond(request, {})

    assert [(event.code, event.message, event.data["role"]) for event in replayed] == [
        ("replayed", "before", "user"),
        ("replayed", "said before", "agent"),
        ("replayed", "thought before", "thought"),
        ("replayed", "Read", "tool"),
    ]
    assert of_type(told, Opened)
    talk.send()
    assert talk.say("new") == [TextDelta("s1", "new")]


def test_an_agent_that_replays_after_its_answer_is_waited_for():
    talk, request = _loading()
    talk.update("user_message_chunk", content={"type": "text", "text": "before"})

    assert talk.respond(request, {}) == []  # gemini: the rest of the history comes now
    replayed = []
    for number in range(5):
        assert talk.respond(talk.one(), code=-32601, message="Method not found") == []
        replayed += talk.say(f"said before {number}")
    assert talk.respond(talk.one(), code=-32601, message="Method not found") == []
    assert talk.respond(talk.one(), code=-32601, message="Method not found") == []
    told = talk.respond(talk.one(), code=-32601, message="Method not found")

    assert [notice.code for notice in replayed] == ["replayed"] * 5
    assert of_type(told, Opened)


def test_an_agent_that_replays_without_end_is_not_waited_for():
    talk, request = _loading()
    told = talk.respond(request, {})
    rounds = 0
    while not told and rounds < 2000:
        rounds += 1
        talk.update("user_message_chunk", content={"type": "text", "text": "again"})
        told = talk.respond(talk.one(), code=-32601, message="Method not found")

    assert of_type(told, Opened)


def test_an_agent_that_keeps_no_sessions_cannot_take_one_up():
    talk = Talk(resume="old")

    with pytest.raises(PeerError) as raised:
        talk.initialized(agentCapabilities={})

    assert raised.value.code == "resume_unsupported"


def test_a_session_that_is_gone_is_not_replaced_by_a_new_one():
    talk, request = _loading()

    with pytest.raises(PeerError) as raised:
        talk.respond(request, code=-32002, message="Resource not found")

    assert raised.value.code == "resume_failed"


def test_sessions_of_the_agent_are_listed():
    talk = Talk()
    talk.ready()

    assert talk.connection.list_sessions(cwd="/work")
    request = talk.one()
    rows = [{"sessionId": "a", "cwd": "/work", "title": None, "updatedAt": "2026"}, 3]
    told = talk.respond(request, {"sessions": rows, "nextCursor": "c"})

    assert request["params"] == {"cwd": "/work"}
    assert told == [Listed((KnownSession("a", "/work", "", "2026"),), "c")]


def test_an_agent_that_lists_nothing_is_not_asked():
    talk = Talk()
    talk.ready(agentCapabilities={})

    assert not talk.connection.list_sessions()
    assert talk.written() == []


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
        Plan("s1", (PlanEntry("a", "high", "pending"),))
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

    assert [event.code for event in late] == ["late_text", "late_result", "unexpected_response"]
    assert late[1].data == {"toolCallId": "t1", "status": "completed", "result": "done"}


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

    assert told == ToolCall("s1", "t1", "ls", {"title": "ls"}, "execute", "ls")
    assert talk.update("tool_call", toolCallId="t1", title="ls", status="pending") == []


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
    "fields, quirks, name",
    [
        ({"name": "Bash", "title": "ls"}, {}, "Bash"),
        ({"title": "shell · ls", "_meta": {"goose": {"toolCall": {"toolName": "shell"}}}}, {}, "shell"),
        ({"title": "ls", "_meta": {"toolName": 3}}, {}, "ls"),
        ({"title": "ls"}, {"tool_name_from_id": "__"}, "run_shell"),
        ({"title": "terminal: ls"}, {"tool_name_from_title": ": "}, "terminal"),
        ({"title": "ls"}, {"tool_name_from_title": ": "}, "ls"),
        ({}, {}, "execute"),
    ],
)
def test_a_tool_is_named_as_well_as_the_agent_says(fields, quirks, name):
    talk = talking(quirks=quirks)

    (told,) = talk.update(
        "tool_call", toolCallId="run_shell__1", kind="execute", status="in_progress", **fields
    )

    assert told.tool_name == name


def test_an_unknown_kind_of_tool_is_other():
    (told,) = talking().update("tool_call", toolCallId="t1", title="x", kind="teleport", status="in_progress")

    assert told.kind == "other"


# --- questions -----------------------------------------------------------------------------------------------------------

CALL = {"toolCallId": "t1", "title": "rm x", "kind": "execute", "rawInput": {"command": "rm x"}}


@requirement("aip45:events:agent-prompt")
def test_a_question_comes_after_the_call_that_it_is_about():
    call, ask = talking().ask(CALL, request_id="uuid")

    assert call == ToolCall("s1", "t1", "rm x", {"command": "rm x"}, "execute", "rm x")
    assert (ask.tool_name, ask.arguments, ask.kind, ask.call_id) == (
        "rm x",
        {"command": "rm x"},
        "execute",
        "t1",
    )
    assert [(option.id, option.name, option.kind) for option in ask.options] == [
        ("always", "Always", "allow_always"),
        ("once", "Yes", "allow_once"),
        ("no", "No", "reject_once"),
    ]


def _answered(answer, options=OPTIONS, request_id=0):
    talk = talking()
    ask = talk.ask(CALL, request_id, options)[-1]
    notices = talk.connection.answer(ask.tool_call_id, answer)
    return talk, talk.one(), notices


@pytest.mark.parametrize("request_id", [0, "uuid", None])
def test_yes_is_the_option_that_says_once(request_id):
    _, message, notices = _answered(Answer(True), request_id=request_id)

    assert message["id"] == request_id
    assert message["result"] == {"outcome": {"outcome": "selected", "optionId": "once"}}
    assert notices == []


def test_yes_for_the_session_is_still_once_because_always_means_something_else_to_every_agent():
    _, message, _ = _answered(Answer(True, for_session=True))

    assert message["result"]["outcome"]["optionId"] == "once"


def test_no_is_a_real_denial_and_says_why():
    talk, message, _ = _answered(Answer(False, reason="not in this repository"))

    assert message["result"] == {
        "outcome": {"outcome": "selected", "optionId": "no"},
        "_meta": {"reason": "not in this repository"},
    }
    (result,) = talk.update("tool_call_update", toolCallId="t1", status="failed")
    assert (result.is_error, result.denied) == (True, True)
    talk.say("I will not do it then.")
    assert talk.stop() == [TurnEnd("s1", "completed")]


def test_a_denied_call_that_the_agent_says_nothing_more_about_is_closed_as_denied():
    talk, _, _ = _answered(Answer(False))

    result, _ = talk.stop()

    assert (result.result, result.is_error, result.denied) == ("The call was denied.", True, True)


def test_a_call_that_ran_although_it_was_denied_is_not_hidden():
    talk, _, _ = _answered(Answer(False))

    (result,) = talk.update("tool_call_update", toolCallId="t1", status="completed", rawOutput="ran")

    assert (result.is_error, result.denied) == (False, False)


def test_an_option_is_sent_when_it_is_named():
    _, message, _ = _answered(Answer(True, option_id="always"))

    assert message["result"]["outcome"]["optionId"] == "always"


@pytest.mark.parametrize(
    "answer, code",
    [
        (Answer(True, option_id="nope"), "UNKNOWN_OPTION"),
        (Answer(False, option_id="once"), "OPTION_CONTRADICTS"),
        (Answer(True, option_id="no"), "OPTION_CONTRADICTS"),
    ],
)
def test_an_option_that_was_not_offered_or_says_the_opposite_is_never_sent(answer, code):
    talk = talking()
    ask = talk.ask(CALL)[-1]

    with pytest.raises(Fail) as raised:
        talk.connection.answer(ask.tool_call_id, answer)

    assert raised.value.code == code
    assert talk.written() == []
    talk.connection.answer(ask.tool_call_id, Answer(False))
    assert talk.one()["result"]["outcome"]["optionId"] == "no"


@pytest.mark.parametrize(
    "options, chosen",
    [
        ([OPTIONS[0], OPTIONS[2]], "no"),  # only one that lasts
        ([{"optionId": "x", "name": "Sure", "kind": "teleport"}, OPTIONS[2]], "no"),  # an unknown kind
        (
            [
                {"optionId": "risk_based", "name": "Trust the agent", "kind": "allow_once"},
                {"optionId": "accept", "name": "Accept", "kind": "allow_once"},
                OPTIONS[2],
            ],
            "accept",
        ),  # openhands
        (
            [{"optionId": "a", "kind": "allow_once"}, {"optionId": "b", "kind": "allow_once"}, OPTIONS[2]],
            "no",
        ),
    ],
)
def test_what_is_not_plainly_one_time_is_never_picked(options, chosen):
    _, message, notices = _answered(Answer(True), options)

    assert message["result"]["outcome"]["optionId"] == chosen
    assert bool(notices) == (chosen == "no")


def test_where_the_agent_offers_no_way_to_say_no_it_is_told_cancelled():
    talk, message, notices = _answered(Answer(False), [OPTIONS[1]])

    assert message["result"] == {"outcome": {"outcome": "cancelled"}}
    assert [notice.code for notice in notices] == ["no_reject_option"]
    assert talk.stop()[0].denied


def test_a_question_without_options_can_be_denied_only():
    _, message, _ = _answered(Answer(True), "nonsense")

    assert message["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_question_is_answered_once():
    talk, _, _ = _answered(Answer(True))

    (notice,) = talk.connection.answer("ask-1", Answer(True))

    assert notice.code == "stale_answer"
    assert talk.written() == []


def test_a_question_under_an_id_of_its_own_is_about_the_open_call():
    talk = talking()
    talk.update("tool_call", toolCallId="tc-1", title="terminal: rm x", kind="execute")

    call, ask = talk.ask({**CALL, "toolCallId": "perm-check-1", "title": "Dangerous: rm x"})
    result = talk.update("tool_call_update", toolCallId="tc-1", status="completed")

    assert (call.tool_call_id, call.arguments) == ("tc-1", {"command": "rm x"})
    assert (ask.call_id, ask.text) == ("tc-1", "Dangerous: rm x")
    assert result == [ToolResult("s1", "tc-1")]


def test_a_question_is_the_first_word_about_a_call_where_it_has_no_other():
    talk = talking()
    talk.update("tool_call", toolCallId="t0", title="echo one", kind="execute", status="in_progress")
    gemini = {
        "toolCallId": "run__1",
        "title": "rm x",
        "kind": "execute",
        "content": [{"type": "content", "content": {"type": "text", "text": "[in /work]"}}],
    }

    call, ask = talk.ask(gemini)

    assert (call.tool_call_id, ask.call_id) == ("run__1", "run__1")
    assert call.arguments == {"title": "rm x", "text": "[in /work]"}


def test_a_malformed_question_is_refused_and_the_turn_goes_on():
    talk = talking()

    (notice,) = talk.call("session/request_permission", {"sessionId": "agent-1", "options": OPTIONS})

    assert notice.code == "malformed_request"
    assert talk.one()["error"]["code"] == -32602
    assert talk.stop() == [TurnEnd("s1", "completed")]


# --- cancel --------------------------------------------------------------------------------------------------------------


def test_open_questions_are_cancelled_before_the_turn_is():
    talk = talking()
    ask = talk.ask(CALL)[-1]

    assert talk.connection.cancel() == [CallWithdrawn(ask.tool_call_id)]
    answer, cancel = talk.written()

    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    assert cancel == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "agent-1"}}


def test_no_approval_follows_a_cancel():
    talk = talking()
    ask = talk.ask(CALL)[-1]
    talk.connection.cancel()
    talk.written()

    talk.connection.answer(ask.tool_call_id, Answer(True))
    assert talk.written() == []
    happened = talk.ask({**CALL, "toolCallId": "t2"}, request_id=1)

    assert not of_type(happened, AgentPrompt)
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}


def test_nothing_is_cancelled_while_nothing_runs():
    talk = Talk()
    talk.ready()

    assert talk.connection.cancel() == []
    assert talk.written() == []


def test_a_turn_is_cancelled_once():
    talk = talking()
    talk.connection.cancel()
    talk.written()

    assert talk.connection.cancel() == []
    assert talk.written() == []


def test_a_cancelled_turn_ends_as_cancelled_whatever_the_agent_calls_it():
    talk = talking()
    talk.connection.cancel()

    assert talk.stop("end_turn") == [TurnEnd("s1", "cancelled", "end_turn")]


def test_a_cancelled_turn_may_end_as_a_cancelled_request():
    talk = talking()
    talk.connection.cancel()

    assert talk.fail(-32800, "Request cancelled") == [TurnEnd("s1", "cancelled", "-32800")]


def test_a_turn_that_breaks_while_it_is_cancelled_says_so():
    talk = talking()
    talk.connection.cancel()

    error, end = talk.fail(-32603, "'NoneType' object has no attribute 'startswith'")  # hermes

    assert (type(error), end) == (AgentError, TurnEnd("s1", "error"))


def test_a_question_that_the_agent_takes_back_is_withdrawn():
    talk = talking()
    ask = talk.ask(CALL, request_id=7)[-1]

    assert talk.notify("$/cancel_request", {"requestId": 7}) == [CallWithdrawn(ask.tool_call_id)]
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}
    assert talk.notify("$/cancel_request", {"requestId": 7}) == []
    assert talk.notify("$/cancel_request", {}) == []


def test_questions_are_over_with_their_turn():
    talk = talking()
    ask = talk.ask(CALL)[-1]

    happened = talk.stop()
    talk.connection.answer(ask.tool_call_id, Answer(True))

    assert happened[0] == CallWithdrawn(ask.tool_call_id)
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_question_outside_of_a_turn_is_told_cancelled():
    talk = Talk()
    talk.ready()

    (notice,) = talk.ask(CALL)

    assert notice.code == "late_ask"
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}


# --- what the host serves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method, grant",
    [
        ("fs/read_text_file", "fs_read"),
        ("fs/write_text_file", "fs_write"),
        ("terminal/create", "terminal"),
        ("terminal/output", "terminal"),
        ("terminal/wait_for_exit", "terminal"),
        ("terminal/kill", "terminal"),
        ("terminal/release", "terminal"),
    ],
)
def test_files_and_terminals_are_served_only_when_granted(method, grant):
    refused, granted = talking(), talking(**{grant: True})
    params = {"sessionId": "agent-1", "path": "/work/a"}

    assert refused.call(method, params) == []
    assert refused.one()["error"]["code"] == -32601
    assert granted.call(method, params, request_id="u") == [ClientCall("call-1", method, params)]
    granted.connection.reply("call-1", {"content": "x"})
    assert granted.one() == {"jsonrpc": "2.0", "id": "u", "result": {"content": "x"}}


def test_what_the_host_could_not_do_is_told_as_an_error():
    talk = talking(fs_write=True)
    talk.call("fs/write_text_file", {"path": "/etc/passwd"})
    talk.connection.reply(
        "call-1", error={"code": -32602, "message": "outside", "data": {"path": "/etc/passwd"}}
    )

    assert talk.one()["error"] == {"code": -32602, "message": "outside", "data": {"path": "/etc/passwd"}}
    talk.connection.reply("call-1", {})
    talk.connection.reply("never", {})
    assert talk.written() == []


def test_an_empty_result_is_an_empty_object():
    talk = talking(fs_write=True)
    talk.call("fs/write_text_file", {"path": "a"})
    talk.connection.reply("call-1")

    assert talk.one()["result"] == {}


def test_a_call_that_the_agent_takes_back_is_withdrawn_and_not_answered_twice():
    talk = talking(terminal=True)
    talk.call("terminal/wait_for_exit", {"terminalId": "1"}, request_id="g")

    assert talk.notify("$/cancel_request", {"requestId": "g"}) == [CallWithdrawn("call-1")]
    assert talk.one()["error"]["code"] == -32800
    talk.connection.reply("call-1", {"exitCode": 0})
    assert talk.written() == []


@pytest.mark.parametrize(
    "method", ["_vendor/thing", "craft/drainMidTurnQueue", "session/prompt", "elicitation/create"]
)
def test_methods_that_nobody_has_are_refused_politely(method):
    talk = talking()

    assert talk.call(method, {}) == []
    assert talk.one()["error"]["code"] == -32601


@pytest.mark.parametrize(
    "method", ["_auth/status_update", "qwen/notify/session/mode-update", "_session/retrying"]
)
def test_notifications_that_nobody_has_are_noticed(method):
    assert talking().notify(method, {"x": 1}) == [Notice("extension", method, "s1")]


def test_an_agent_that_asks_without_end_is_refused():
    talk = talking(terminal=True)
    for number in range(1024):
        talk.call("terminal/wait_for_exit", {"terminalId": "1"}, request_id=number)

    (notice,) = talk.call("terminal/wait_for_exit", {"terminalId": "1"}, request_id=5000)

    assert notice.code == "too_many_requests"
    assert [message["id"] for message in talk.written()] == [5000]


def test_parameters_without_names_are_refused():
    talk = talking(fs_read=True)

    talk.call("fs/read_text_file", ["/etc/passwd"])

    assert talk.one()["error"]["code"] == -32602


# --- input ---------------------------------------------------------------------------------------------------------------

FORM = {"type": "object", "properties": {"branch": {"type": "string"}}, "required": ["branch"]}


@pytest.mark.parametrize(
    "answer, result",
    [
        (Answer(True, content={"branch": "main"}), {"action": "accept", "content": {"branch": "main"}}),
        (Answer(True, content="main"), {"action": "accept", "content": {"branch": "main"}}),
        (Answer(True), {"action": "accept", "content": {}}),
        (Answer(False), {"action": "decline"}),
        (Answer(False, cancelled=True), {"action": "cancel"}),
    ],
)
def test_a_form_is_asked_with_its_schema(answer, result):
    talk = talking(elicitation=True)
    params = {"mode": "form", "sessionId": "agent-1", "message": "Which branch?", "requestedSchema": FORM}

    (ask,) = talk.call("elicitation/create", params)
    talk.connection.answer(ask.tool_call_id, answer)

    assert (ask.text, ask.schema, ask.url) == ("Which branch?", FORM, None)
    assert talk.one()["result"] == result


def test_an_address_is_asked_with_its_url():
    talk = talking(elicitation=True)
    params = {
        "mode": "url",
        "sessionId": "agent-1",
        "message": "Log in",
        "url": "https://x.example",
        "elicitationId": "e",
    }

    (ask,) = talk.call("elicitation/create", params)
    talk.connection.answer(ask.tool_call_id, Answer(True))

    assert (ask.text, ask.schema, ask.url) == ("Log in", None, "https://x.example")
    assert talk.one()["result"] == {"action": "accept"}
    (notice,) = talk.notify("elicitation/complete", {"elicitationId": "e"})
    assert notice.code == "input_complete"


def test_input_may_be_asked_for_while_the_session_opens_and_is_cancelled_with_the_turn():
    talk = Talk(elicitation=True)
    talk.initialized()
    assert of_type(talk.call("elicitation/create", {"message": "code?", "requestId": 1}), AgentPrompt)

    running = talking(elicitation=True)
    (ask,) = running.call("elicitation/create", {"message": "?"})
    assert running.connection.cancel() == [CallWithdrawn(ask.tool_call_id)]
    assert running.written()[0]["result"] == {"action": "cancel"}


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
    talk.call("fs/read_text_file", {"path": "a"}, request_id=1)

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


def test_an_agent_that_could_not_read_a_line_of_ours_is_heard():
    talk = talking()

    (notice,) = feed(talk.connection, {"id": None, "error": {"code": -32700, "message": "Parse error"}})

    assert (notice.code, notice.message) == ("unexpected_response", "Parse error")


def test_events_are_plain_values():
    talk = talking()
    happened = talk.ask(CALL)
    happened += talk.stop()

    for event in of_type(happened, (ToolCall, AgentPrompt, ToolResult, TurnEnd)):
        assert plain(event)
    assert "sessionUpdate" not in str(
        [plain(event) for event in happened if not isinstance(event, CallWithdrawn)]
    )


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
