"""The MCP arm: an agent that is a tool of a server, one call a turn. What it writes is validated by the official SDK."""

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Answer, CallWithdrawn, Message, Noise, Opened, Opening, PeerError
from operable.host.arms.mcp import ARM, VERSIONS
from operable.kernel.errors import Fail
from operable.wire.events import AgentPrompt, Notice, TextDelta, ToolCall, ToolResult, TurnEnd
from tests.host.arms.acp_talk import feed
from tests.host.arms.driving import mutated, of_type, opened, sent, survives
from tests.requirement import requirement

PROMPT = {
    "name": "prompt",
    "inputSchema": {
        "type": "object",
        "properties": {"prompt": {"type": "string"}, "cwd": {"type": "string"}, "model": {"type": "string"}},
        "required": ["prompt"],
    },
}
REPLY = {
    "name": "prompt-reply",
    "inputSchema": {
        "type": "object",
        "properties": {"threadId": {"type": "string"}, "prompt": {"type": "string"}},
    },
}
# In the SDK, which is imported when it is asked: a second, which no other worker has to spend.
_MODELS = {
    "initialize": "InitializeRequest",
    "notifications/initialized": "InitializedNotification",
    "notifications/cancelled": "CancelledNotification",
    "tools/list": "ListToolsRequest",
    "tools/call": "CallToolRequest",
}


def model(name: str) -> Any:
    """A type of the official SDK."""
    return getattr(importlib.import_module("mcp.types"), name)


class Server:
    """A server played by hand."""

    def __init__(self, **opening):
        self.connection: Any = opened(ARM, **opening)
        self.call_id: int | None = None

    def written(self):
        messages = sent(self.connection)
        for message in messages:
            assert message["jsonrpc"] == "2.0"
            if "method" in message:
                given = {"method": message["method"], "params": message["params"]}
                model(_MODELS[message["method"]]).model_validate(given)
        return messages

    def one(self):
        (message,) = self.written()
        return message

    def respond(self, request, result=None, **error):
        outcome = {"error": error} if error else {"result": result}
        return feed(self.connection, {"jsonrpc": "2.0", "id": request["id"], **outcome})

    def listing(self, version=VERSIONS[0]):
        info = {"name": "codex-mcp", "version": "1.0"}
        answer = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        assert self.respond(self.one(), answer) == []
        initialized, request = self.written()
        assert initialized["method"] == "notifications/initialized"
        return request

    def ready(self, *tools):
        (told,) = self.respond(self.listing(), {"tools": list(tools) or [PROMPT]})
        return told

    def send(self, text="hi"):
        self.connection.send(Message(text))
        request = self.one()
        self.call_id = request["id"]
        return request

    def notify(self, method, params):
        return feed(self.connection, {"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params, request_id=0):
        return feed(self.connection, {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def result(self, *texts, **more):
        content = [{"type": "text", "text": text} for text in texts]
        return feed(self.connection, {"id": self.call_id, "result": {"content": content, **more}})


def serving(**opening):
    server = Server(**opening)
    server.ready()
    server.send()
    return server


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_with_a_handshake_is_spoken(version):
    server = Server()

    (told,) = server.respond(server.listing(version), {"tools": [PROMPT]})

    assert (told.protocol_version, told.agent_name, told.agent_version) == (version, "codex-mcp", "1.0")
    assert told.observed == {"multimodal": False, "resumable": False}


@pytest.mark.parametrize("version", ["1999-01-01", None, 3])
def test_an_unknown_version_is_refused(version):
    server = Server()

    with pytest.raises(PeerError) as raised:
        server.respond(server.one(), {"protocolVersion": version, "capabilities": {}})

    assert raised.value.code == "unsupported_protocol_version"


@pytest.mark.parametrize("elicitation", [True, False])
def test_only_what_the_host_answers_is_offered(elicitation):
    offered = Server(elicitation=elicitation, quirks={"sampling": elicitation}).one()["params"][
        "capabilities"
    ]

    assert offered.keys() == ({"roots", "elicitation", "sampling"} if elicitation else {"roots"})


def _tool(name, *texts, **others):
    properties = {text: {"type": "string"} for text in texts} | {
        other: {"type": kind} for other, kind in others.items()
    }
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


@pytest.mark.parametrize(
    "tools, quirks, name, text",
    [
        ([_tool("anything", "task")], {}, "anything", "task"),
        ([_tool("status", n="integer"), _tool("anything", "x", n="integer")], {}, "anything", "x"),
        ([_tool("other", "x"), _tool("run", "x"), _tool("chat", "id", "message")], {}, "chat", "message"),
        ([_tool("prompt", "x"), _tool("think", "prompt")], {"tool": "think"}, "think", "prompt"),
        ([_tool("prompt", "text", "query")], {"prompt_property": "query"}, "prompt", "query"),
        ([3, {"name": 4}, {"name": "a"}, {"name": "b", "inputSchema": 7}, PROMPT], {}, "prompt", "prompt"),
    ],
)
def test_the_tool_that_is_the_agent_is_found(tools, quirks, name, text):
    server = Server(quirks=quirks)
    server.ready(*tools)

    call = server.send("hello")

    assert call["params"]["name"] == name
    assert call["params"]["arguments"][text] == "hello"


@pytest.mark.parametrize(
    "tools, quirks",
    [
        ([], {}),
        ([_tool("a", "x"), _tool("b", "x")], {}),
        ([PROMPT], {"tool": "other"}),
        ([_tool("a", n="integer")], {}),
    ],
)
def test_a_server_without_an_agent_is_refused(tools, quirks):
    server = Server(quirks=quirks)
    request = server.listing()

    with pytest.raises(PeerError) as raised:
        server.respond(request, {"tools": tools})

    assert raised.value.code == "no_prompt_tool"


def test_tools_are_listed_page_by_page():
    server = Server()
    assert server.respond(server.listing(), {"tools": [_tool("a", "x")], "nextCursor": "2"}) == []
    page = server.one()

    assert page["params"] == {"cursor": "2"}
    assert of_type(server.respond(page, {"tools": [PROMPT]}), Opened)


def test_a_server_that_lists_without_end_is_not_followed():
    server = Server()
    request, told = server.listing(), []
    for _ in range(64):
        told = server.respond(request, {"tools": [PROMPT], "nextCursor": "more"})
        if told:
            break
        request = server.one()

    assert of_type(told, Opened)
    assert server.written() == []


def test_the_call_carries_what_the_tool_has_a_parameter_for():
    server = Server(cwd="/work", model="big", options={"effort": "high"})
    server.ready()
    server.connection.send(Message("look", files=["a.txt"]))

    call = server.one()["params"]

    assert call["arguments"] == {"prompt": "look\n@a.txt", "cwd": "/work", "model": "big"}
    assert call["_meta"] == {"progressToken": 1}


def test_a_model_may_be_chosen_for_the_next_turn_where_the_tool_takes_one():
    server = Server()
    server.ready()

    assert server.connection.select(model="small")
    assert not server.connection.select(mode="plan")
    assert not server.connection.select(option=("effort", "high"))
    assert server.send()["params"]["arguments"]["model"] == "small"


def test_images_are_refused():
    server = Server()
    server.ready()

    with pytest.raises(Fail):
        server.connection.send(Message("look", images=[("image/png", "aGk=")]))

    assert server.written() == []


@requirement("aip45:conformance:mcp-server")
def test_the_result_is_the_answer():
    server = serving()

    assert server.result("one", "two") == [TextDelta("s1", "one\ntwo"), TurnEnd("s1", "completed")]


def test_content_that_is_not_text_is_said_in_words_or_noticed():
    server = serving()
    content = [
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "x", "text": "inside"}},
        3,
    ]

    notice, text, _ = feed(server.connection, {"id": server.call_id, "result": {"content": content}})

    assert (notice.code, notice.data["mediaType"]) == ("media", "image/png")
    assert text.text == "[a](file:///a)\ninside"


def test_structured_content_is_a_tool_result():
    server = serving()

    _, call, result, end = server.result("done", structuredContent={"files": 3})

    assert call == ToolCall("s1", "turn-1", "prompt", {"prompt": "hi", "cwd": "/work"}, "think")
    assert result == ToolResult("s1", "turn-1", {"files": 3})
    assert end == TurnEnd("s1", "completed")


@pytest.mark.parametrize(
    "answer, code",
    [
        ({"result": {"content": [{"type": "text", "text": "no"}], "isError": True}}, "tool_error"),
        ({"error": {"code": -32602, "message": "no"}}, "invalid_request"),
        ({"error": {"code": -32001, "message": "no"}}, "timeout"),
        ({"error": {"code": 5, "message": "no"}}, "agent_error"),
    ],
)
def test_a_call_that_fails_ends_the_turn_in_an_error(answer, code):
    server = serving()

    error, end = feed(server.connection, {"id": server.call_id, **answer})

    assert (error.error.code, error.error.message, end) == (code, "no", TurnEnd("s1", "error"))


def test_an_answer_that_is_no_object_is_an_error():
    server = serving()

    error, _ = feed(server.connection, {"id": server.call_id, "result": [1]})

    assert error.error.code == "agent_error"


def test_progress_is_noticed_or_text_as_the_manifest_says():
    noticed, spoken = serving(), serving(quirks={"progress": "text"})
    params = {"progressToken": 1, "progress": 3, "total": 10, "message": "working"}

    assert noticed.notify("notifications/progress", params) == [
        Notice("progress", "working", "s1", {"progress": 3, "total": 10})
    ]
    assert spoken.notify("notifications/progress", params) == [TextDelta("s1", "working")]
    (late,) = spoken.notify("notifications/progress", {**params, "progressToken": 7})
    assert late.code == "late_progress"


@pytest.mark.parametrize(
    "data, message", [("starting", "starting"), ({"msg": "starting"}, "starting"), ({"x": 1}, ""), (None, "")]
)
def test_log_messages_are_noticed(data, message):
    (notice,) = serving().notify("notifications/message", {"level": "info", "logger": "core", "data": data})

    assert (notice.code, notice.message, notice.data["level"]) == ("log", message, "info")


def test_a_cancelled_turn_ends_at_once_because_no_answer_will_come():
    server = serving()

    assert server.connection.cancel() == [TurnEnd("s1", "cancelled")]
    message = server.one()
    assert (message["method"], message["params"]["requestId"]) == ("notifications/cancelled", server.call_id)
    (late,) = server.result("too late")
    assert late.code == "unexpected_response"
    assert server.connection.cancel() == []
    server.send()


FORM = {"type": "object", "properties": {"branch": {"type": "string"}}}


@pytest.mark.parametrize(
    "answer, result",
    [
        (Answer(True, content={"branch": "main"}), {"action": "accept", "content": {"branch": "main"}}),
        (Answer(True, content="main"), {"action": "accept", "content": {"branch": "main"}}),
        (Answer(False), {"action": "decline"}),
        (Answer(False, cancelled=True), {"action": "cancel"}),
    ],
)
def test_a_form_is_a_question_with_a_schema(answer, result):
    server = serving(elicitation=True)

    (ask,) = server.ask("elicitation/create", {"message": "Which?", "requestedSchema": FORM}, request_id="e")
    server.connection.answer(ask.tool_call_id, answer)
    message = server.one()

    assert (ask.text, ask.schema) == ("Which?", FORM)
    assert (message["id"], message["result"]) == ("e", result)
    model("ElicitResult").model_validate(message["result"])


def test_an_address_is_a_question_with_a_url():
    (ask,) = serving(elicitation=True).ask(
        "elicitation/create", {"message": "Log in", "url": "https://x.example"}
    )

    assert (ask.url, ask.schema) == ("https://x.example", None)


SAMPLING = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Summarise"}}],
    "systemPrompt": "Be short",
    "maxTokens": 100,
}


def test_a_completion_is_asked_for_with_all_that_it_would_send():
    server = serving(quirks={"sampling": True})

    (ask,) = server.ask("sampling/createMessage", SAMPLING)
    server.connection.answer(ask.tool_call_id, Answer(True, content={"text": "Short.", "model": "small"}))
    result = server.one()["result"]

    assert (ask.text, ask.tool_name) == ("Summarise", "sampling")
    assert ask.arguments["messages"] == [{"role": "user", "text": "Summarise"}]
    assert result == model("CreateMessageResult").model_validate(result).model_dump(
        by_alias=True, exclude_none=True
    )
    assert (result["content"]["text"], result["model"]) == ("Short.", "small")


def test_a_completion_may_be_refused():
    server = serving(quirks={"sampling": True})
    (ask,) = server.ask("sampling/createMessage", SAMPLING)

    server.connection.answer(ask.tool_call_id, Answer(False, reason="not with this text"))

    assert server.one()["error"] == {"code": -1, "message": "not with this text"}


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "vendor/thing"])
def test_what_was_not_offered_is_refused(method):
    server = serving()

    assert server.ask(method, {}) == []
    assert server.one()["error"]["code"] == -32601


def test_the_workspace_is_the_root():
    server = serving(cwd="/home/me/my project")

    server.ask("roots/list", {})
    result = server.one()["result"]

    model("ListRootsResult").model_validate(result)
    assert result == {"roots": [{"uri": "file:///home/me/my%20project", "name": "my project"}]}


def test_a_ping_is_answered():
    server = serving()
    server.ask("ping", {}, request_id=9)

    assert server.one() == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_questions_are_withdrawn_by_the_server_by_a_cancel_and_with_their_turn():
    server = serving(elicitation=True)
    (first,) = server.ask("elicitation/create", {"message": "a"}, request_id=1)
    assert server.notify("notifications/cancelled", {"requestId": 1}) == [CallWithdrawn(first.tool_call_id)]
    (second,) = server.ask("elicitation/create", {"message": "b"}, request_id=2)
    assert server.result("done")[0] == CallWithdrawn(second.tool_call_id)
    server.written()
    server.send()
    (third,) = server.ask("elicitation/create", {"message": "c"}, request_id=3)

    assert server.connection.cancel() == [CallWithdrawn(third.tool_call_id), TurnEnd("s1", "cancelled")]
    answer, _ = server.written()
    assert answer["result"] == {"action": "cancel"}
    (notice,) = server.connection.answer(third.tool_call_id, Answer(True, content={}))
    assert notice.code == "stale_answer"
    assert server.written() == []


def test_a_question_outside_of_a_turn_is_told_cancelled():
    server = Server(elicitation=True)
    server.ready()

    (notice,) = server.ask("elicitation/create", {"message": "?"})

    assert notice.code == "late_ask"
    assert server.one()["result"] == {"action": "cancel"}


THREAD = {"tool": "prompt", "reply_tool": "prompt-reply", "session_property": "threadId"}


def test_a_conversation_goes_on_by_the_tool_that_replies():
    server = Server(quirks=THREAD)
    told = server.ready(PROMPT, REPLY)
    server.send("one")
    server.result("first", structuredContent={"threadId": "th-1", "content": "first"})

    call = server.send("two")["params"]

    assert told.observed["resumable"] is True
    assert (call["name"], call["arguments"]) == ("prompt-reply", {"threadId": "th-1", "prompt": "two"})


def test_an_earlier_conversation_is_taken_up():
    server = Server(quirks=THREAD, resume="th-0")
    told = server.ready(PROMPT, REPLY)

    assert told.agent_session_id == "th-0"
    assert server.send()["params"]["arguments"]["threadId"] == "th-0"


def test_a_server_that_cannot_go_on_takes_up_nothing():
    server = Server(resume="th-0")
    request = server.listing()

    with pytest.raises(PeerError) as raised:
        server.respond(request, {"tools": [PROMPT]})

    assert raised.value.code == "resume_unsupported"


def test_an_agent_that_ends_in_a_turn_leaves_nothing_open():
    server = serving(elicitation=True)
    (ask,) = server.ask("elicitation/create", {"message": "?"})

    withdrawn, error, end = server.connection.eof(1)

    assert withdrawn == CallWithdrawn(ask.tool_call_id)
    assert (error.error.code, end) == ("agent_exited", TurnEnd("s1", "error"))
    assert server.written() == []
    assert server.connection.eof(1) == []


def test_an_agent_that_ends_before_it_was_ready_says_so():
    assert Server().connection.eof(1)[0].error.code == "agent_exited"


def test_one_turn_at_a_time_in_an_open_session():
    server = serving()
    with pytest.raises(Fail) as raised:
        server.connection.send(Message("again"))
    assert raised.value.code == "TURN_RUNNING"

    with pytest.raises(Fail) as raised:
        Server().connection.send(Message("early"))
    assert raised.value.code == "SESSION_NOT_OPEN"

    with pytest.raises(Fail):
        server.connection.open(Opening("/work", "s1"))


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":9,"method":"x","params":{"a":"\\ud800"}}',
        b'{"id":9,"method":"ping","params":[1]}',
        b'[{"id":9,"method":"x"}]',
    ],
)
def test_a_request_that_cannot_be_read_gets_an_answer(line):
    server = serving()
    sent(server.connection)

    (noise,) = feed(server.connection, line)

    assert isinstance(noise, Noise)
    (answer,) = sent(server.connection)
    assert answer["id"] == 9
    assert answer["error"]["code"] in (-32600, -32700)


def test_noise_and_surprises_are_told():
    server = serving()

    assert feed(server.connection, b"hello") == [Noise(b"hello", "not_json")]
    assert feed(server.connection, {"method": "notifications/tools/list_changed"}) == [
        Notice("extension", "notifications/tools/list_changed", "s1")
    ]
    (notice,) = feed(server.connection, {"id": 99, "result": {}})
    assert notice.code == "unexpected_response"
    assert not of_type([notice], AgentPrompt)


@pytest.mark.parametrize("error", [{"code": -32601, "message": "no"}])
def test_a_server_that_refuses_the_handshake_is_refused(error):
    early, late = Server(), Server()
    with pytest.raises(PeerError):
        early.respond(early.one(), **error)
    request = late.listing()
    with pytest.raises(PeerError):
        late.respond(request, **error)


# Everything a server may say in a turn, for damage of every kind.
SAID = [
    {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1, "message": "a"},
    },
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": {"msg": "b"}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}},
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "elicitation/create",
        "params": {"message": "c", "requestedSchema": FORM},
    },
    {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": SAMPLING},
    {"jsonrpc": "2.0", "id": 2, "method": "roots/list", "params": {}},
    {
        "jsonrpc": "2.0",
        "id": 3,
        "result": {
            "content": [{"type": "text", "text": "d"}],
            "structuredContent": {"e": 1},
            "isError": False,
        },
    },
    {"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "f"}},
]


@given(lines=st.lists(mutated(SAID), max_size=12), cancels=st.booleans())
def test_whatever_a_server_says_every_promise_is_kept(lines, cancels):
    server = serving(elicitation=True, quirks={"sampling": True})

    survives(server.connection, lines, cancels=cancels)
