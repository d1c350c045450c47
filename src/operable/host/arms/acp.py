"""The Agent Client Protocol: JSON-RPC over standard input and output; version 1, and the draft of version 2.

Theory of operation. A connection goes through phases: initialize, (log in,) open or resume a session, choose what was
wanted, idle, and then turns. What the agent says is dispatched here; translation of updates, tool calls, questions and the
differences between the versions are in `operable.host.acp`. A turn is a request of ours (`session/prompt`): in version 1
its response ends the turn, in version 2 an update that says `idle` does.

Quirks (`metadata.operable` of a manifest): `acp_version: 2` asks for the draft first; `tool_name_from_id: "__"` and
`tool_name_from_title: ": "` take the name of a tool from the id or the first title of its call, up to that mark (Gemini,
hermes); `tool_name_from_title: true` takes the whole title (opencode). Without them a title is not a name that rules trust.
`tool_arguments_from_text: true` reads the arguments of a call from its text, where they are as JSON (Kimi Code).

`usage: process` says that the usage at the end of a turn counts from the start of the process (Copilot, hermes).

What an agent does that no specification foresees, and what happens then, is in `docs/explain/one-taxonomy.md`.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from operable.host.acp import values
from operable.host.acp.asks import AcpAsks
from operable.host.acp.call import Marks
from operable.host.acp.calls import Calls
from operable.host.acp.handshake import Handshake
from operable.host.acp.requests import AcpTurn, Requests
from operable.host.acp.updates import Updates, usage_of
from operable.host.acp.values import prompt
from operable.host.arm import Answer, Arm, Happening, KnownSession, Message, Noise, Opening, SessionPage
from operable.host.peer import Odometer
from operable.kernel.errors import Fail
from operable.wire import acp, jsonrpc
from operable.wire.events import CANCELLED, COMPLETED, ERROR, AgentError, Failure, Notice, TurnEnd
from operable.wire.jsonrpc import MalformedMessage, RpcError

_NOISE_LIMIT: Final = 4096
"""Bytes of a stray line that are passed on; the rest does not help."""


class AcpConnection:
    """One conversation with an agent; see `operable.host.arm.Connection`."""

    def __init__(self) -> None:
        self._link = jsonrpc.RpcLink()
        self._turn: AcpTurn | None = None
        self._started = False
        self._closing = False
        self._over = False
        self._prepare(Opening("/", ""))

    def _prepare(self, opening: Opening) -> None:
        self._opening = opening
        self._session_id = opening.session_id
        self._meter = Odometer()
        self._handshake = Handshake(self._link, opening, lambda: self._updates.heard)
        self._calls = Calls(
            opening.session_id,
            _marks(opening.quirks),
        )
        self._asks = AcpAsks(self._link, opening.session_id)
        self._updates = Updates(opening.session_id, self._calls, self._handshake.settings)
        self._requests = Requests(self._link, opening, self._calls, self._asks, self._handshake)

    # --- what the host wants -----------------------------------------------------------------------------------------

    def open(self, opening: Opening) -> None:
        if self._started:
            raise Fail("usage", "ALREADY_OPEN", "This connection was opened before.")
        self._started = True
        self._prepare(opening)
        self._handshake.start()

    def send(self, message: Message) -> None:
        if self._turn is not None:
            raise Fail(
                "conflict", "TURN_RUNNING", "A turn is running; agents differ in what a second one does."
            )
        if not self._usable():
            raise Fail("conflict", "SESSION_NOT_OPEN", "There is no open session to send to.")
        images = self._handshake.peer.words.get("image", False)
        params = {
            "sessionId": self._handshake.agent_id,
            "prompt": prompt(message, self._opening.cwd, images=images),
        }
        self._handshake.replaying = False
        self._updates.begin_turn()
        self._calls.begin_turn()
        self._turn = AcpTurn()
        self._link.request("session/prompt", params, (self._on_prompt, self._turn))

    def cancel(self) -> list[Happening]:
        # Never without a turn: hermes loses its session when it is asked to cancel nothing.
        if self._turn is None or self._turn.cancelled:
            return []
        self._turn.cancelled = True
        withdrawn: list[Happening] = [*self._asks.withdraw_all(of_turn=True)]
        self._link.notify("session/cancel", {"sessionId": self._handshake.agent_id})
        return withdrawn

    def answer(self, request_id: str, answer: Answer) -> list[Happening]:
        call_id = self._asks.call_of(request_id)
        notices, denied = self._asks.answer(request_id, answer)
        if denied:
            self._calls.deny(call_id)
        return [*notices]

    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None:
        self._requests.reply(call_id, result, error)

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        if not self._usable():
            return False
        wishes = self._handshake.wishes(mode, model, dict([option]) if option else {})
        for wish in wishes or ():
            self._link.request(*wish, (self._on_select, wish[1]))
        return wishes is not None

    def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None) -> bool:
        """Ask for the sessions that the agent keeps; False: it does not say. The answer comes as `SessionPage`."""
        if not self._handshake.peer.words.get("session.list") or self._over:
            return False
        given = {"cwd": cwd, "cursor": cursor}
        params = {name: value for name, value in given.items() if value is not None}
        self._link.request("session/list", params, (self._on_list,))
        return True

    def close(self) -> None:
        if self._usable() and self._handshake.peer.words.get("session.close"):
            self._link.request("session/close", {"sessionId": self._handshake.agent_id}, (self._on_closed,))
        self._closing = True

    def eof(self, exit_status: int | None) -> list[Happening]:
        if self._over:
            return []
        self._over = True
        gone = self._requests.drop()
        self._link.take()  # there is no process left to read it
        status = "" if exit_status is None else f" with status {exit_status}"
        if self._turn is not None:
            failed = Failure(f"The agent ended{status} in the middle of a turn.", "agent_exited")
            return [*gone, *self._end_turn(ERROR, failed=failed)]
        if self._started and not self._handshake.ready:
            failed = Failure(f"The agent ended{status} before a session was open.", "agent_exited")
            return [*gone, AgentError(failed, self._session_id)]
        return gone

    def outgoing(self) -> bytes:
        return self._link.take()

    def _usable(self) -> bool:
        return self._handshake.ready and not self._closing and not self._over

    # --- what the agent says -----------------------------------------------------------------------------------------

    def receive(self, line: bytes) -> list[Happening]:
        if self._over or not self._started:
            return []
        try:
            message = jsonrpc.decode(line)
            if message.method == "session/update" and message.id is UNSET:
                return self._update(acp.decode_update(message.params))
            if message.method is UNSET:
                return self._response(message)
            if message.id is not UNSET:
                return self._requests.take(message, self._turn)
            return self._notification(message)
        except MalformedMessage as fault:
            return [Noise(line[:_NOISE_LIMIT], fault.code), *self._unread(line, fault)]
        except acp.UnknownUpdate as unknown:
            return [self._notice("unknown_update", unknown.kind[:200])]

    def _unread(self, line: bytes, fault: MalformedMessage) -> list[Happening]:
        """Every request on the line gets an answer, and a request of ours whose answer cannot be read has failed."""
        error = RpcError(jsonrpc.INTERNAL_ERROR, f"The agent's answer cannot be read: {fault.code}")
        happened: list[Happening] = []
        for react, *about in self._link.refuse_unread(line, fault):
            happened += react({}, error, *about)
        return happened

    def _update(self, params: acp.Params) -> list[Happening]:
        update, turn, agent_id = params.update, self._turn, self._handshake.agent_id
        if params.session_id != agent_id and agent_id is not None:
            # A session inside the session (sub-agents, forks): worth knowing, but no part of this turn.
            return [self._notice("other_session", str(type(update).__struct_config__.tag))]
        if type(update) is acp.AcpState:
            return self._state(update)
        if turn is None:
            return [*self._updates.outside(update, replaying=self._handshake.replaying)]
        turn.begun = True
        happenings: list[Any] = self._updates.in_turn(update)
        return happenings

    def _state(self, update: acp.AcpState) -> list[Happening]:
        """Version 2: the agent runs, waits, or is idle. Idle before it took our prompt is not the end of our turn."""
        turn = self._turn
        if turn is None or self._handshake.peer.version != 2:
            return []
        if update.state != "idle":
            turn.begun = True
        elif turn.begun and update.stop_reason == "error":
            error = jsonrpc.RpcMessage(error=update.error or {}).failure() or RpcError()
            return self._end_turn(ERROR, "error", failed=values.failure(error))
        elif turn.begun:
            return self._stop(update.stop_reason, {"usage": update.usage, "_meta": update.meta})
        return []

    def _notification(self, message: jsonrpc.RpcMessage) -> list[Happening]:
        if message.method == "$/cancel_request":
            key = self._link.key_of(jsonrpc.params_of(message.params).get("requestId"))
            return self._requests.withdraw(key) if key else []
        if message.method == "elicitation/complete":
            return [self._notice("input_complete", "What the agent asked for was done elsewhere.")]
        return [self._notice("extension", str(message.method)[:200])]

    def _response(self, message: jsonrpc.RpcMessage) -> list[Happening]:
        ours, purpose = self._link.settle(message.id)
        error = message.failure()
        if not ours:
            text = error.message if error else "It answers no request of ours."
            return [self._notice("unexpected_response", text[:_NOISE_LIMIT])]
        result: dict[str, Any] = {}
        if error is None:
            try:
                result = jsonrpc.params_of(message.result)
            except MalformedMessage as fault:
                error = RpcError(jsonrpc.INTERNAL_ERROR, f"The agent's answer is not an object: {fault.code}")
        react, *about = purpose
        happened: list[Happening] = react(result, error, *about)
        return happened

    def _on_select(
        self, result: dict[str, Any], error: RpcError | None, chosen: dict[str, Any]
    ) -> list[Happening]:
        if error is not None:
            return [self._notice("select_failed", error.message)]
        self._handshake.settings.chosen(chosen, result)
        return [self._updates.settings_change()]

    def _on_list(self, result: dict[str, Any], error: RpcError | None) -> list[Happening]:
        rows = result.get("sessions")
        if error is not None or not isinstance(rows, list):
            return [self._notice("list_failed", error.message if error else "The agent gave no list.")]
        names = ("sessionId", "cwd", "title", "updatedAt")
        found = [
            KnownSession(*(str(row.get(name) or "") for name in names))
            for row in rows
            if isinstance(row, dict)
        ]
        cursor = result.get("nextCursor")
        return [SessionPage(tuple(found), cursor if isinstance(cursor, str) else None)]

    def _on_closed(self, _result: dict[str, Any], _error: RpcError | None) -> list[Happening]:
        return []

    # --- the end of a turn -------------------------------------------------------------------------------------------

    def _on_prompt(self, result: dict[str, Any], error: RpcError | None, turn: AcpTurn) -> list[Happening]:
        if turn is not self._turn:
            return []  # version 2: it ended before its own response came
        if error is not None:
            if error.code == jsonrpc.REQUEST_CANCELLED and turn.cancelled:
                return self._end_turn(CANCELLED, str(error.code))
            return self._end_turn(ERROR, failed=values.failure(error))
        if self._handshake.peer.version == 2 and "stopReason" not in result:
            turn.begun = True
            return []
        return self._stop(result.get("stopReason"), result)

    def _stop(self, stop: Any, answer: Mapping[str, Any]) -> list[Happening]:
        word = stop if isinstance(stop, str) else None
        reason = values.REASONS.get(word or "end_turn", COMPLETED)
        # An agent that was asked to stop and says that it is done has not done what it was asked (opencode).
        if self._turn is not None and self._turn.cancelled and reason == COMPLETED:
            reason = CANCELLED
        own = None if word is None or values.REASONS.get(word) == reason else word
        return self._end_turn(reason, own, answer=answer)

    def _end_turn(
        self,
        reason: str,
        stop: str | None = None,
        *,
        failed: Failure | None = None,
        answer: Mapping[str, Any] | None = None,
    ) -> list[Happening]:
        ended: list[Happening] = [*self._asks.withdraw_all(of_turn=True), *self._calls.end_turn()]
        if failed is not None:
            ended.append(AgentError(failed, self._session_id))
        usage = usage_of(answer) if answer else None
        if usage is not None and self._opening.quirks.get("usage") == "process":
            usage = self._meter.turn(usage)
        ended.append(TurnEnd(self._session_id, reason, stop, usage))
        self._turn = None
        return ended

    def _notice(self, code: str, message: str) -> Notice:
        return Notice(code, message, self._session_id)


def _marks(quirks: Mapping[str, Any]) -> Marks:
    in_id, in_title = quirks.get("tool_name_from_id"), quirks.get("tool_name_from_title")
    written = quirks.get("tool_arguments_from_text") is True
    return Marks(str(in_id or ""), in_title if isinstance(in_title, str) else "", bool(in_title), written)


ARM: Final = Arm("acp", "Agent Client Protocol", AcpConnection, protocols=("acp",))
