"""Requests of the agent: permission and input, which people answer, and files and terminals, which the host serves.

Methods that were not granted when the connection opened, and all others (`_vendor/…`, names without a mark), are refused
as unknown methods. A question outside of a turn, or after its turn was cancelled, is answered
`cancelled` at once: no user is there to approve. A request that names another session is denied: what was decided here does
not hold there.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET

from operable.host.acp.asks import AcpAsks, choices
from operable.host.acp.calls import Calls
from operable.host.acp.handshake import Handshake
from operable.host.arm import Answer, CallWithdrawn, ClientCall, Happening, Opening
from operable.wire import acp, jsonrpc
from operable.wire.events import AgentPrompt, Notice
from operable.wire.jsonrpc import MalformedMessage, RpcLink

_TERMINAL: Final = frozenset(
    f"terminal/{word}" for word in ("create", "output", "wait_for_exit", "kill", "release")
)


class AcpTurn:
    """One turn: what must be remembered between a message of the user and the end of the agent's work on it.

    `begun`: the agent works on it (version 2 says so by its state); `cancelled`: the host has asked to stop it.
    """

    __slots__ = ("begun", "cancelled")

    def __init__(self) -> None:
        self.begun = False
        self.cancelled = False


_Taker = Callable[[str, str, dict[str, Any], AcpTurn | None], list[Happening]]


class Requests:
    """Takes the requests of one agent, and knows which of them the host still works on."""

    def __init__(
        self, link: RpcLink, opening: Opening, calls: Calls, asks: AcpAsks, handshake: Handshake
    ) -> None:
        self._link = link
        self._opening = opening
        self._calls = calls
        self._asks = asks
        self._handshake = handshake
        self._served: set[str] = set()

    def take(self, message: jsonrpc.RpcMessage, turn: AcpTurn | None) -> list[Happening]:
        method = str(message.method)
        request_id = None if message.id is UNSET else message.id
        taker = self._taker(method)
        if taker is None:
            self._link.refuse_id(request_id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
            return []
        key = None
        try:
            params = jsonrpc.params_of(message.params)
            key = self._link.accept(request_id, "call" if taker == self._serve else "ask")
            if key is None:
                self._link.refuse_id(request_id, jsonrpc.INTERNAL_ERROR, "Too many requests are open")
                return [self._notice("too_many_requests", method[:200])]
            if self._is_foreign(method, params):
                return self._deny_foreign(key, method, params)
            return taker(key, method, params, turn)
        except MalformedMessage as fault:
            text = f"Invalid params: {fault.code}"
            if key is None or not self._link.refuse(key, jsonrpc.INVALID_PARAMS, text):
                self._link.refuse_id(request_id, jsonrpc.INVALID_PARAMS, text)
            return [self._notice("malformed_request", f"{method[:200]}: {fault.code}")]

    def reply(self, key: str, result: Any, error: Mapping[str, Any] | None) -> None:
        """What the host did for a `ClientCall`; nothing is sent for one that was withdrawn."""
        if key not in self._served:
            return
        self._served.discard(key)
        if error is None:
            self._link.respond(key, {} if result is None else result)
            return
        code = error.get("code")
        number = code if type(code) is int else jsonrpc.INTERNAL_ERROR
        self._link.refuse(key, number, str(error.get("message", "")), error.get("data"))

    def withdraw(self, key: str) -> list[Happening]:
        """The agent no longer waits for this one."""
        if key not in self._served:
            return [*self._asks.withdraw(key)]
        self._served.discard(key)
        self._link.refuse(key, jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        return [CallWithdrawn(key)]

    def drop(self) -> list[Happening]:
        """The agent is gone."""
        gone: list[Happening] = [*self._asks.withdraw_all(of_turn=False)]
        gone += [CallWithdrawn(key) for key in sorted(self._served)]
        self._served.clear()
        return gone

    def _taker(self, method: str) -> _Taker | None:
        """Who takes a request of this name; None: no mode, whether the agent made it up or it was not granted."""
        opening = self._opening
        granted = (
            (method == "fs/read_text_file" and opening.fs_read)
            or (method == "fs/write_text_file" and opening.fs_write)
            or (method in _TERMINAL and opening.terminal)
        )
        if granted and self._handshake.peer.version == 1:
            return self._serve
        if method == "session/request_permission":
            return self._permission
        if method == "elicitation/create" and opening.elicitation:
            return self._elicitation
        return None

    def _is_foreign(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether a request is not of the session that rules and people answer for.

        Only a question for input may name no session: the protocol has such, and they are about no call.
        """
        if method == "elicitation/create" and "sessionId" not in params:
            return False
        return self._handshake.agent_id is not None and params.get("sessionId") != self._handshake.agent_id

    def _deny_foreign(self, key: str, method: str, params: Mapping[str, Any]) -> list[Happening]:
        text = "The request names a session that this host did not open."
        happenings: list[Happening] = [self._notice("foreign_request", f"{method}: {text}")]
        if method == "session/request_permission":
            self._asks.permission(key, choices(params.get("options")), None)
            return [*happenings, *self._asks.answer(key, Answer(allowed=False, reason=text))[0]]
        if method == "elicitation/create":
            self._link.respond(key, {"action": "cancel"})
        else:
            self._link.refuse(key, jsonrpc.INVALID_PARAMS, text)
        return happenings

    def _serve(self, key: str, method: str, params: dict[str, Any], turn: AcpTurn | None) -> list[Happening]:
        happenings: list[Happening] = [*self._calls.passed_over()] if self._calls.holding and turn else []
        self._served.add(key)
        return [*happenings, ClientCall(key, method, params)]

    def _permission(
        self, key: str, _method: str, params: dict[str, Any], turn: AcpTurn | None
    ) -> list[Happening]:
        fields, text = _asked(params)
        if turn is None:
            self._asks.refuse(key)
            return [
                self._notice("late_ask", "The agent asked outside of a turn; it was answered as cancelled.")
            ]
        happenings, call, shown = self._calls.ask(fields)
        if turn.cancelled:
            self._asks.refuse(key)
            return [*happenings]
        offered = choices(params.get("options"))
        self._asks.permission(key, offered, call.tool_call_id)
        ask = AgentPrompt(
            self._opening.session_id,
            key,
            offered,
            text or call.title,
            call.tool_name,
            call.arguments,
            call.kind,
            call.tool_call_id,
            locations=call.locations,
            unnamed=call.unnamed,
            diffs=shown,
        )
        return [*happenings, ask]

    def _elicitation(
        self, key: str, _method: str, params: dict[str, Any], turn: AcpTurn | None
    ) -> list[Happening]:
        if turn.cancelled if turn is not None else self._handshake.ready:
            self._link.respond(key, {"action": "cancel"})
            return []
        url, schema = params.get("url"), params.get("requestedSchema")
        if isinstance(url, str):
            schema = None
        else:
            url = None
            schema = schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
        call_id = params.get("toolCallId")
        about = call_id if isinstance(call_id, str) else None
        self._asks.input(key, schema, call_id=about, of_turn=turn is not None)
        happenings: list[Happening] = [*self._calls.passed_over()] if self._calls.holding and turn else []
        text = str(params.get("message") or "")
        ask = AgentPrompt(self._opening.session_id, key, text=text, call_id=about, schema=schema, url=url)
        return [*happenings, ask]

    def _notice(self, code: str, message: str) -> Notice:
        return Notice(code, message, self._opening.session_id)


def _asked(params: Mapping[str, Any]) -> tuple[acp.ToolFields, str]:
    """The call that a request for permission is about, and its words. Version 2 wraps it in a subject, or has words only."""
    title, description, subject = params.get("title"), params.get("description"), params.get("subject")
    text = title if isinstance(title, str) else ""
    call = params.get("toolCall")
    if call is None and isinstance(subject, dict):
        call = subject.get("toolCall") or _commanded(subject, text)
    elif call is None and text:
        call = {"toolCallId": f"ask:{text[:80]}", "title": text}
    words = f"{text}\n{description}" if isinstance(description, str) else text
    return acp.tool_fields(call), words


def _commanded(subject: Mapping[str, Any], text: str) -> dict[str, Any]:
    given = {name: subject[name] for name in ("command", "cwd") if isinstance(subject.get(name), str)}
    call_id = subject.get("toolCallId")
    return {
        "toolCallId": call_id if isinstance(call_id, str) else f"ask:{text[:80]}",
        "title": text,
        "rawInput": given,
        "kind": "execute" if "command" in given else "other",
    }
