"""An ACP agent played by hand: the handshake, updates and requests in few words; all that is written is validated.

Validation is by the models of the official SDK, which are generated from the published schema of version 1.
"""

from typing import Any

import msgspec
from acp import schema
from pydantic import BaseModel, TypeAdapter

from operable.host.arm import Message, Opened
from operable.host.arms.acp import ARM
from tests.host.arms import driving
from tests.host.arms.driving import opened, sent

CAPABLE = {
    "loadSession": True,
    "promptCapabilities": {"image": True},
    "mcpCapabilities": {"http": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
MODES: dict[str, Any] = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}],
}
CONFIG: list[dict[str, Any]] = [
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
CALL: dict[str, Any] = {
    "toolCallId": "t1",
    "title": "rm x",
    "kind": "execute",
    "rawInput": {"command": "rm x"},
}
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"branch": {"type": "string"}},
    "required": ["branch"],
}
_REQUESTS: dict[str, Any] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/list": schema.ListSessionsRequest,
    "session/close": schema.CloseSessionRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": TypeAdapter(
        schema.SetSessionConfigOptionBooleanRequest | schema.SetSessionConfigOptionSelectRequest
    ),
}
# Not in the models any more (set_model), or ours (the barrier).
_UNCHECKED = {"session/set_model", "_operable/barrier"}


def valid(message: dict[str, Any], asked: dict[Any, str] | None = None) -> dict[str, Any]:
    """This message, which is valid under version 1; `asked` says what each request of the agent was."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        assert ("id" in message) == (message["method"] != "session/cancel")
        if message["method"] not in _UNCHECKED:
            _validate(_REQUESTS[message["method"]], message["params"])
    elif "error" in message:
        schema.Error.model_validate(message["error"])
    elif (asked or {}).get(message["id"]) == "session/request_permission":
        schema.RequestPermissionResponse.model_validate(message["result"])
    return message


def _validate(model: type[BaseModel] | TypeAdapter[Any], params: Any) -> None:
    if isinstance(model, TypeAdapter):
        model.validate_python(params)
    else:
        model.model_validate(params)


def feed(connection: Any, *messages: Any) -> list[Any]:
    """What the connection makes of these; tests know what they expect, so nothing is said about its types."""
    return [*driving.feed(connection, *messages)]


class Talk:
    """A connection and the agent at its other end, which says what the test wants."""

    def __init__(self, **opening: Any) -> None:
        self.connection: Any = opened(ARM, **opening)
        self.agent_id = "agent-1"
        self.prompt_id: int | None = None
        self._asked: dict[Any, str] = {}

    def written(self) -> list[dict[str, Any]]:
        return [valid(message, self._asked) for message in sent(self.connection)]

    def one(self) -> dict[str, Any]:
        (message,) = self.written()
        return message

    def respond(self, request: dict[str, Any], result: Any = None, **error: Any) -> list[Any]:
        outcome = {"error": error} if error else {"result": result}
        return feed(self.connection, {"jsonrpc": "2.0", "id": request["id"], **outcome})

    def initialized(self, **answer: Any) -> dict[str, Any]:
        """The request that follows the answer to `initialize`."""
        plain = {
            "protocolVersion": 1,
            "agentCapabilities": CAPABLE,
            "authMethods": [{"id": "key", "name": "Key"}],
        }
        assert self.respond(self.one(), {**plain, **answer}) == []
        return self.one()

    def ready(self, result: dict[str, Any] | None = None, **answer: Any) -> Opened:
        request = self.initialized(**answer)
        happened = self.respond(request, {"sessionId": self.agent_id, **(result or {})})
        (told,) = (event for event in happened if isinstance(event, Opened))
        return told

    def send(self, text: str = "hi") -> dict[str, Any]:
        self.connection.send(Message(text))
        request = self.one()
        self.prompt_id = request["id"]
        return request

    def update(self, kind: str, /, **fields: Any) -> list[Any]:
        params = {"sessionId": self.agent_id, "update": {"sessionUpdate": kind, **fields}}
        return feed(self.connection, {"jsonrpc": "2.0", "method": "session/update", "params": params})

    def say(self, text: str) -> list[Any]:
        return self.update("agent_message_chunk", content={"type": "text", "text": text})

    def call(self, method: str, params: Any, request_id: Any = 0) -> list[Any]:
        self._asked[request_id] = method
        return feed(self.connection, {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def ask(self, call: dict[str, Any], request_id: Any = 0, options: Any = OPTIONS) -> list[Any]:
        params = {"sessionId": self.agent_id, "toolCall": call, "options": options}
        return self.call("session/request_permission", params, request_id)

    def notify(self, method: str, params: Any) -> list[Any]:
        return feed(self.connection, {"jsonrpc": "2.0", "method": method, "params": params})

    def stop(self, reason: str = "end_turn", **more: Any) -> list[Any]:
        return feed(
            self.connection,
            {"jsonrpc": "2.0", "id": self.prompt_id, "result": {"stopReason": reason, **more}},
        )

    def fail(self, code: int, message: str = "went wrong") -> list[Any]:
        return feed(self.connection, {"id": self.prompt_id, "error": {"code": code, "message": message}})


def talking(**opening: Any) -> Talk:
    """In the middle of a turn."""
    talk = Talk(**opening)
    talk.ready()
    talk.send()
    return talk


def plain(event: Any) -> Any:
    return msgspec.to_builtins(event)
