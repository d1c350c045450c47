"""The draft of version 2 in the ACP arm: the turn ends by an update, calls are upserts, terminals are the agent's own."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Answer, Message, Opened, PeerError
from operable.wire.events import Notice, TextDelta, Thought, ToolCall, ToolResult, TurnEnd, Usage
from tests.host.arms.acp_talk import OPTIONS, Talk, feed
from tests.host.arms.driving import mutated, of_type, sent, survives

INFO = {"name": "codex", "version": "2.6.0"}
SESSION: dict[str, Any] = {"prompt": {"image": {}}, "mcp": {"stdio": {}, "http": {}}}
CONFIG = [
    {
        "configId": "mode",
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask"}, {"value": "plan", "name": "Plan"}],
    }
]


class Second(Talk):
    """A conversation in version 2; what is written has no published models to be held against."""

    def written(self):
        return sent(self.connection)

    def ready(self, result=None, **_answer):
        request = self.one()
        assert request["params"].keys() == {"protocolVersion", "info", "capabilities"}
        self.respond(request, {"protocolVersion": 2, "info": INFO, "capabilities": {"session": SESSION}})
        happened = self.respond(self.one(), {"sessionId": self.agent_id, **(result or {})})
        return of_type(happened, Opened)[0]

    def accepted(self):
        return feed(self.connection, {"id": self.prompt_id, "result": {"messageId": "m0"}})

    def idle(self, reason="end_turn", **more):
        return self.update("state_update", state="idle", stopReason=reason, **more)


def second(**opening):
    talk = Second(quirks={"acp_version": 2}, **opening)
    talk.ready({"configOptions": CONFIG})
    talk.send()
    return talk


def test_the_draft_is_spoken_where_it_is_wanted_and_understood():
    told = Second(quirks={"acp_version": 2}).ready({"configOptions": CONFIG})

    assert (told.protocol_version, told.agent_name, told.agent_version) == ("2", "codex", "2.6.0")
    assert (told.modes, told.current_mode) == (("ask", "plan"), "ask")
    assert told.observed == {"resumable": True, "multimodal": True}


def test_an_agent_that_knows_only_the_draft_is_asked_again_in_its_words():
    talk = Second()
    talk.respond(talk.one(), code=-32022, message="Unsupported", data={"supported": [2]})

    assert talk.one()["params"]["protocolVersion"] == 2


def test_an_agent_that_knows_neither_is_refused():
    talk = Second()

    with pytest.raises(PeerError):
        talk.respond(talk.one(), code=-32022, message="Unsupported", data={"supported": [3]})


def test_the_turn_ends_when_the_agent_is_idle_and_not_with_the_answer_to_the_prompt():
    talk = second()

    assert talk.accepted() == []
    assert talk.update("state_update", state="running") == []
    assert talk.say("hi") == [TextDelta("s1", "hi")]
    usage = {"inputTokens": 1, "outputTokens": 2}
    assert talk.idle(usage=usage) == [TurnEnd("s1", "completed", usage=Usage(1, 2))]


def test_an_agent_that_is_still_idle_has_not_ended_the_turn():
    talk = second()

    assert talk.idle() == []
    talk.accepted()
    assert talk.idle("cancelled") == [TurnEnd("s1", "cancelled")]


def test_a_turn_may_end_before_its_own_answer_comes():
    talk = second()
    talk.say("quick")

    assert talk.idle() == [TurnEnd("s1", "completed")]
    assert talk.accepted() == []
    talk.connection.send(Message("next"))


def test_what_was_streamed_in_one_turn_says_nothing_about_the_next():
    talk = second()
    talk.accepted()
    text = [{"type": "text", "text": "whole"}]
    talk.update("agent_message_chunk", messageId="m1", content=text[0])
    talk.idle()
    talk.connection.send(Message("next"))
    talk.accepted()

    assert talk.update("agent_message", messageId="m1", content=text) == [TextDelta("s1", "whole", "m1")]


def test_a_turn_that_ends_in_an_error_says_why():
    talk = second()
    talk.accepted()

    error, end = talk.idle("error", error={"code": -32000, "message": "login"})

    assert (error.error.code, end) == ("auth_required", TurnEnd("s1", "error", "error"))


def test_a_whole_message_is_told_unless_it_was_streamed():
    talk = second()
    talk.accepted()
    text = [{"type": "text", "text": "whole"}]
    talk.update("agent_message_chunk", messageId="m1", content=text[0])

    assert talk.update("agent_message", messageId="m1", content=text) == []
    assert talk.update("agent_message", messageId="m2", content=text) == [TextDelta("s1", "whole", "m2")]
    assert talk.update("agent_thought", messageId="m3", content=text) == [Thought("s1", "whole")]
    assert talk.update("user_message", messageId="m4", content=text) == []


def test_a_command_shows_what_its_terminal_showed():
    talk = second()
    talk.accepted()
    terminal = [{"type": "terminal", "terminalId": "t"}]
    talk.update(
        "tool_call_update", toolCallId="c", title="ls", kind="execute", status="in_progress", content=terminal
    )
    talk.update("terminal_output_chunk", terminalId="t", data=base64.b64encode(b"a\n").decode())
    talk.update("terminal_update", terminalId="t", output={"data": base64.b64encode(b"a\nb\n").decode()})
    talk.update("terminal_output_chunk", terminalId="t", data="no base64!")

    done = talk.update("tool_call_update", toolCallId="c", status="completed")

    assert done == [ToolResult("s1", "c", "a\nb\n")]


def test_content_of_a_call_may_come_in_pieces():
    talk = second()
    talk.accepted()
    talk.update("tool_call_update", toolCallId="c", title="ls", status="in_progress")
    piece = {"type": "content", "content": {"type": "text", "text": "50 %"}}

    assert talk.update("tool_call_content_chunk", toolCallId="c", content=piece) == [
        Notice("tool_progress", "50 %", "s1", {"toolCallId": "c"})
    ]
    assert talk.update("tool_call_content_chunk", toolCallId="unknown", content=piece) == []
    assert talk.update("tool_call_update", toolCallId="c", status="cancelled") == [
        ToolResult("s1", "c", "50 %", True)
    ]


@pytest.mark.parametrize(
    "subject, name, arguments",
    [
        (
            {
                "type": "tool_call",
                "toolCall": {"toolCallId": "c", "name": "Bash", "rawInput": {"command": "ls"}},
            },
            "Bash",
            {"command": "ls"},
        ),
        ({"type": "command", "command": "ls", "cwd": "/work"}, "Run ls?", {"command": "ls", "cwd": "/work"}),
        (None, "Run ls?", {"title": "Run ls?"}),
    ],
)
def test_a_question_names_its_subject(subject, name, arguments):
    talk = second()
    talk.accepted()
    params = {"sessionId": "agent-1", "title": "Run ls?", "description": "It lists.", "options": OPTIONS}

    call, ask = talk.call(
        "session/request_permission", {**params, **({"subject": subject} if subject else {})}
    )
    talk.connection.answer(ask.tool_call_id, Answer(True))

    assert isinstance(call, ToolCall)
    assert (ask.text, ask.tool_name, ask.arguments) == ("Run ls?\nIt lists.", name, arguments)
    assert talk.one()["result"]["outcome"]["optionId"] == "once"


def test_options_are_chosen_in_the_words_of_the_draft():
    talk = second()
    assert talk.connection.select(mode="plan")
    params = talk.one()["params"]

    assert params == {"sessionId": "agent-1", "configId": "mode", "type": "id", "value": "plan"}


def test_a_session_is_taken_up_without_its_history():
    talk = Second(quirks={"acp_version": 2}, resume="old")
    talk.respond(talk.one(), {"protocolVersion": 2, "info": INFO, "capabilities": {"session": {}}})
    request = talk.one()

    assert request["method"] == "session/resume"
    assert "replayFrom" not in request["params"]


def test_a_tool_server_has_its_type():
    server = {"name": "files", "command": "/bin/files"}
    talk = Second(quirks={"acp_version": 2}, mcp_servers=[server])
    talk.respond(talk.one(), {"protocolVersion": 2, "info": INFO, "capabilities": {"session": SESSION}})

    assert talk.one()["params"]["mcpServers"] == [{"type": "stdio", **server, "args": [], "env": []}]


def test_files_and_terminals_are_not_served():
    talk = second(fs_read=True, terminal=True)

    assert talk.call("fs/read_text_file", {"path": "a"}) == []
    assert talk.one()["error"]["code"] == -32601


def test_a_plan_is_a_plan_in_any_of_its_forms():
    talk = second()
    talk.accepted()
    entries = [{"content": "a", "status": "cancelled", "priority": "low"}, 3]

    (plan,) = talk.update("plan_update", plan={"type": "items", "planId": "p", "entries": entries})
    assert [(entry.content, entry.status) for entry in plan.entries] == [("a", "cancelled")]
    assert talk.update("plan_update", plan={"type": "markdown", "content": "# Plan"}) == [
        Notice("plan", "# Plan", "s1")
    ]
    assert talk.update("plan_update", plan=None) == []


def _said(kind, /, **fields):
    update = {"sessionUpdate": kind, **fields}
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "agent-1", "update": update},
    }


# Everything an agent may say in a turn, for damage of every kind.
SAID = [
    _said("agent_message_chunk", messageId="m", content={"type": "text", "text": "a"}),
    _said("agent_message", messageId="m", content=[{"type": "text", "text": "a"}]),
    _said(
        "tool_call_update",
        toolCallId="c",
        title="ls",
        kind="execute",
        status="in_progress",
        rawInput={"command": "ls"},
    ),
    _said("tool_call_update", toolCallId="c", status="completed", locations=[{"path": "/a"}]),
    _said("tool_call_content_chunk", toolCallId="c", content={"type": "terminal", "terminalId": "t"}),
    _said("terminal_update", terminalId="t", output={"data": "YQ=="}),
    _said("plan_update", plan={"type": "items", "entries": [{"content": "a"}]}),
    _said("config_option_update", configOptions=CONFIG),
    _said("state_update", state="running"),
    _said("state_update", state="idle", stopReason="end_turn", usage={"inputTokens": 1}),
    _said("state_update", state="idle", stopReason="error", error={"code": 429, "message": "busy"}),
    {"id": 3, "result": {"messageId": "m"}},
    {"id": 3, "error": {"code": -32603, "message": "b"}},
    {
        "id": 0,
        "method": "session/request_permission",
        "params": {"title": "Run?", "subject": {"command": "ls"}, "options": OPTIONS},
    },
    {"method": "$/cancel_request", "params": {"requestId": 0}},
]


@given(lines=st.lists(mutated(SAID), max_size=12), cancels=st.booleans())
def test_whatever_an_agent_says_every_promise_is_kept(lines, cancels):
    survives(second().connection, lines, cancels=cancels)
