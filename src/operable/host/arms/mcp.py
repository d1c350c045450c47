"""An agent that is exposed as tools of the Model Context Protocol: each turn is one call of its prompt tool.

Theory of operation. After `initialize` the tools are listed, page by page, and one of them is the agent: the one that the
manifest names (`metadata.operable.tool`), else the only one, else the first of `prompt`, `chat`, `run` … that takes text.
A turn calls it; progress and log messages are notices, requests for input or for a completion (sampling) are questions, and
the result is the answer. The protocol forbids an answer to a cancelled request, so a cancelled turn ends here, at once.

Quirks (`metadata.operable` of a manifest): `tool`, `prompt_property`; `reply_tool` and `session_property` for agents that
go on with an earlier conversation by another tool and an id that their results carry; `progress: text` for agents whose
progress messages are the answer; `sampling: true` to let the agent ask the host for completions.

The connection knows messages, not transports: over HTTP and SSE each line of `outgoing` is one message to post, and each
message that comes back goes to `receive`. `Opened.protocol_version` is what the header `MCP-Protocol-Version` must say.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from operable.host.arm import (
    Answer,
    Arm,
    CallWithdrawn,
    Happening,
    Message,
    Noise,
    Opened,
    Opening,
    PeerError,
)
from operable.host.mcp import tools
from operable.host.mcp.asks import McpAsks
from operable.host.mcp.tools import PAGE_LIMIT, TextTool, chosen
from operable.kernel.errors import Fail
from operable.wire import jsonrpc
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    AgentError,
    Failure,
    Notice,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from operable.wire.jsonrpc import MalformedMessage, RpcError

_NOISE_LIMIT: Final = 4096
"""Bytes of a stray line that are passed on; the rest does not help."""
VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions with a handshake, newest first; the first is what we offer."""


class McpConnection:
    """One conversation with an agent; see `operable.host.arm.Connection`."""

    def __init__(self) -> None:
        self._link = jsonrpc.RpcLink()
        self._opening = Opening("/", "")
        self._asks = McpAsks(self._link, self._opening)
        self._started = False
        self._ready = False
        self._over = False
        self._turn: int | None = None
        self._turns = 0
        self._arguments: dict[str, Any] = {}
        self._selected: dict[str, Any] = {}
        self._listed: list[Any] = []
        self._pages = 0
        self._tool = TextTool("")
        self._reply: TextTool | None = None
        self._conversation: str | None = None
        self._opened = Opened(None)

    # --- what the host wants -----------------------------------------------------------------------------------------

    def open(self, opening: Opening) -> None:
        if self._started:
            raise Fail("usage", "ALREADY_OPEN", "This connection was opened before.")
        self._started = True
        self._opening = opening
        self._asks = McpAsks(self._link, opening)
        params = {
            "protocolVersion": VERSIONS[0],
            "capabilities": {"roots": {}, **self._asks.capabilities()},
            "clientInfo": {"name": opening.client_name, "version": opening.client_version},
        }
        self._link.request("initialize", params, self._on_initialize)

    def send(self, message: Message) -> None:
        if self._turn is not None:
            raise Fail("conflict", "TURN_RUNNING", "A turn is running; the next one waits for its end.")
        if not self._ready or self._over:
            raise Fail("conflict", "SESSION_NOT_OPEN", "There is no open session to send to.")
        if message.images:
            raise Fail("validation", "IMAGES_UNSUPPORTED", "A tool that takes text takes no images.")
        goes_on = self._reply is not None and self._conversation is not None
        tool = self._reply if goes_on and self._reply is not None else self._tool
        conversation = self._conversation if goes_on else None
        self._arguments = tool.arguments(message, self._opening, conversation, self._selected)
        self._turns += 1
        params = {"name": tool.name, "arguments": self._arguments, "_meta": {"progressToken": self._turns}}
        self._turn = self._link.request("tools/call", params, self._on_result)

    def cancel(self) -> list[Happening]:
        if self._turn is None:
            return []
        ended: list[Happening] = [*self._asks.withdraw_all()]
        self._link.forget(self._turn)
        params = {"requestId": self._turn, "reason": "The user cancelled the turn."}
        self._link.notify("notifications/cancelled", params)
        self._turn = None
        return [*ended, TurnEnd(self._opening.session_id, CANCELLED)]

    def answer(self, request_id: str, answer: Answer) -> list[Happening]:
        return [*self._asks.answer(request_id, answer)]

    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None:
        """This protocol has no calls that the host serves; there is nothing to reply to."""

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        # From the next turn on, where the tool has a parameter of that name; modes are unknown to the protocol.
        wishes = {**({"model": model} if model is not None else {}), **(dict([option]) if option else {})}
        if mode is not None or not wishes.keys() <= self._tool.properties.keys():
            return False
        self._selected |= wishes
        return True

    def close(self) -> None:
        """The protocol has no goodbye: the end of its input is one."""
        self._ready = False

    def eof(self, exit_status: int | None) -> list[Happening]:
        if self._over:
            return []
        self._over = True
        gone: list[Happening] = [*self._asks.withdraw_all()]
        self._link.take()  # there is no process left to read it
        status = "" if exit_status is None else f" with status {exit_status}"
        if self._turn is not None:
            return [*gone, *self._fail(Failure(f"The agent ended{status} in a turn.", "agent_exited"))]
        if self._started and not self._opened.protocol_version:
            failed = Failure(f"The agent ended{status} before it was ready.", "agent_exited")
            return [*gone, AgentError(failed, self._opening.session_id)]
        return gone

    def outgoing(self) -> bytes:
        return self._link.take()

    # --- what the agent says -----------------------------------------------------------------------------------------

    def receive(self, line: bytes) -> list[Happening]:
        if self._over or not self._started:
            return []
        try:
            message = jsonrpc.decode(line)
            if message.method is UNSET:
                return self._response(message)
            params = jsonrpc.params_of(message.params)
        except MalformedMessage as fault:
            error = RpcError(jsonrpc.INTERNAL_ERROR, f"The agent's answer cannot be read: {fault.code}")
            happened: list[Happening] = [Noise(line[:_NOISE_LIMIT], fault.code)]
            for react in self._link.refuse_unread(line, fault):
                happened += react({}, error)
            return happened
        if message.id is UNSET:
            return self._notification(str(message.method), params)
        return self._asks.take(message.id, str(message.method), params, in_turn=self._turn is not None)

    def _response(self, message: jsonrpc.RpcMessage) -> list[Happening]:
        ours, react = self._link.settle(message.id)
        error = message.failure()
        if not ours:
            return [
                self._notice(
                    "unexpected_response", error.message if error else "It answers no request of ours."
                )
            ]
        result: dict[str, Any] = {}
        if error is None:
            try:
                result = jsonrpc.params_of(message.result)
            except MalformedMessage as fault:
                error = RpcError(jsonrpc.INTERNAL_ERROR, f"The agent's answer is not an object: {fault.code}")
        happened: list[Happening] = react(result, error)
        return happened

    def _notification(self, method: str, params: dict[str, Any]) -> list[Happening]:
        match method:
            case "notifications/progress":
                return self._progress(params)
            case "notifications/message":
                text, data = tools.logged(params)
                return [self._notice("log", text, data)]
            case "notifications/cancelled":
                key = self._link.key_of(params.get("requestId"))
                return [*self._asks.withdraw(key)] if key else []
            case _:
                return [self._notice("extension", method[:200])]

    def _progress(self, params: dict[str, Any]) -> list[Happening]:
        text = params.get("message")
        current = self._turn is not None and params.get("progressToken") == self._turns
        if isinstance(text, str) and current and self._opening.quirks.get("progress") == "text":
            return [TextDelta(self._opening.session_id, text)]
        numbers = {name: params.get(name) for name in ("progress", "total") if params.get(name) is not None}
        return [
            self._notice(
                "progress" if current else "late_progress", text if isinstance(text, str) else "", numbers
            )
        ]

    # --- the handshake -----------------------------------------------------------------------------------------------

    def _on_initialize(self, result: dict[str, Any], error: RpcError | None) -> list[Happening]:
        if error is not None:
            raise PeerError(
                "handshake_failed", f"The agent refused to initialize: {error.message}", error.data
            )
        version = result.get("protocolVersion")
        if version not in VERSIONS:
            raise PeerError(
                "unsupported_protocol_version", f"The agent speaks MCP {version!r}; known: {VERSIONS}."
            )
        self._opened = tools.opened(result, str(version))
        self._link.notify("notifications/initialized", {})
        self._list_tools(None)
        return []

    def _list_tools(self, cursor: str | None) -> None:
        self._pages += 1
        self._link.request("tools/list", {"cursor": cursor} if cursor else {}, self._on_tools)

    def _on_tools(self, result: dict[str, Any], error: RpcError | None) -> list[Happening]:
        if error is not None:
            raise PeerError("handshake_failed", f"The agent lists no tools: {error.message}", error.data)
        page = result.get("tools")
        self._listed += page if isinstance(page, list) else []
        cursor = result.get("nextCursor")
        if isinstance(cursor, str) and cursor and self._pages < PAGE_LIMIT:
            self._list_tools(cursor)
            return []
        self._tool, self._reply = chosen(self._listed, self._opening.quirks)
        if self._opening.resume is not None and self._reply is None:
            raise PeerError(
                "resume_unsupported", "The agent has no tool that goes on with an earlier conversation."
            )
        self._conversation = self._opening.resume
        self._listed.clear()
        self._ready = True
        return [tools.with_session(self._opened, self._opening.resume, resumable=self._reply is not None)]

    # --- the end of a turn -------------------------------------------------------------------------------------------

    def _on_result(self, result: dict[str, Any], error: RpcError | None) -> list[Happening]:
        if error is not None:
            return self._fail(tools.failure(error))
        text, media = tools.said(result.get("content"))
        if result.get("isError") is True:
            return self._fail(Failure(text or "The agent's tool failed.", "tool_error"))
        session_id, answer = self._opening.session_id, [self._notice("media", *shown) for shown in media]
        events: list[Happening] = [*self._asks.withdraw_all(), *answer]
        if text:
            events.append(TextDelta(session_id, text))
        structured = result.get("structuredContent")
        if structured is not None:
            call_id = f"turn-{self._turns}"
            # The agent itself is this tool: the host has called it, and there is nothing left to ask about.
            events.append(ToolCall(session_id, call_id, self._tool.name, self._arguments, "think"))
            events.append(ToolResult(session_id, call_id, structured))
        self._conversation = self._tool.session_of(structured) or self._conversation
        self._turn = None
        return [*events, TurnEnd(session_id, COMPLETED)]

    def _fail(self, failed: Failure) -> list[Happening]:
        session_id, self._turn = self._opening.session_id, None
        withdrawn: list[CallWithdrawn] = self._asks.withdraw_all()
        return [*withdrawn, AgentError(failed, session_id), TurnEnd(session_id, ERROR)]

    def _notice(self, code: str, message: str, data: Any = None) -> Notice:
        return Notice(code, message, self._opening.session_id, data)


ARM: Final = Arm("mcp", "Model Context Protocol", McpConnection, protocols=("mcp",))
