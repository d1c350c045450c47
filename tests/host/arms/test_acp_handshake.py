"""The ACP arm from a fresh process to an open session: versions, logins, earlier sessions, first choices."""

import pytest

from operable.host.arm import (
    KnownSession,
    NeedsAuth,
    Opened,
    PeerError,
    SessionPage,
)
from operable.wire.events import (
    TextDelta,
)
from tests.host.arms.acp_talk import CONFIG, MODES, Talk
from tests.host.arms.driving import of_type, sent
from tests.requirement import requirement

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


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            "Failed to resolve model:\nGOOSE_MODEL is not set",
            "Failed to resolve model: GOOSE_MODEL is not set",
        ),
        ({"details": "no such session"}, "no such session"),
        ({"message": "quota"}, "quota"),
    ],
)
def test_the_cause_that_an_agent_puts_beside_its_message_is_said(data, words):
    talk = Talk()

    with pytest.raises(PeerError) as raised:
        talk.respond(talk.initialized(), None, code=-32603, message="Internal error", data=data)

    assert raised.value.message == f"The agent opened no session: Internal error: {words}"


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
    assert told == [SessionPage((KnownSession("a", "/work", "", "2026"),), "c")]


def test_an_agent_that_lists_nothing_is_not_asked():
    talk = Talk()
    talk.ready(agentCapabilities={})

    assert not talk.connection.list_sessions()
    assert talk.written() == []
