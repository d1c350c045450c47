"""Codex' own protocol, `codex app-server`: JSON-RPC without the field `jsonrpc`, one JSON object per line.

Handshake: `initialize`, `initialized`, then `thread/start` or, to resume, `thread/resume`. Mode is a preset of approval
policy and sandbox: `read-only`, `auto` (writes inside the workspace) or `full-access` (asks nothing). Options: `effort`,
`approval_policy`, `sandbox`. Nothing said: what Codex is configured for. `metadata.operable.thread` of a manifest is added
to the parameters of the thread as it is.

A turn is `turn/start`, which answers at once; it ends with `turn/completed`. Text comes in pieces and then whole, commands
and patches as items. Items of other threads (sub-agents) are not part of the answer, but their commands are tool calls.

Questions: approvals of commands, patches and permissions, questions of tools and of MCP servers. A denial is `decline`;
since that carries no reason, the reason follows as input to the running turn (`turn/steer`).

Cancel: open questions are answered `cancel`, then `turn/interrupt`. A command that already runs may run on to its end: its
late result is a notice.

Usage: Codex counts through the thread and counts cached tokens as input; here it is per turn, and input is without them.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from operable.host.arm import Answer, Arm, Happening, Message, NeedsAuth, Noise, Opening, PeerError
from operable.host.codex import approvals, thread
from operable.host.codex.items import CodexContent, failure, plan_of, reason_of
from operable.host.codex.thread import POLICIES, ThreadMeter, settings_of
from operable.host.conversation import Conversation
from operable.host.peer import mapping, parse, string, with_files
from operable.wire import jsonrpc
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    AgentError,
    AgentPlan,
    ModeChange,
    UsageUpdate,
)

_ASKING: Final = frozenset(
    {approvals.COMMAND, approvals.PATCH, approvals.PERMISSIONS, approvals.INPUT, approvals.ELICITATION}
)
_NOTED: Final = {
    "warning": "warning",
    "configWarning": "warning",
    "guardianWarning": "warning",
    "deprecationNotice": "warning",
    "model/rerouted": "model_fallback",
    "thread/compacted": "compacted",
}
_REMEMBERED: Final = 100  # turns that ended


class CodexAppServer:
    """The host's side of one conversation."""

    def __init__(self) -> None:
        self._state = Conversation()
        self._opening = Opening(cwd="", session_id="")
        self._requests: dict[int, str] = {}  # our open requests, and their methods
        self._numbered = 0
        self._thread = ""
        self._turn = ""
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        self._content = CodexContent(self._state)
        self._next: dict[str, Any] = {}  # what the next turn changes
        self._meter = ThreadMeter()
        self._version = ""

    def open(self, opening: Opening) -> None:
        self._opening = opening
        self._state.session_id = opening.session_id
        client = {
            "name": opening.client_name,
            "title": opening.client_name,
            "version": opening.client_version,
        }
        self._request("initialize", {"clientInfo": client})

    def receive(self, line: bytes) -> list[Happening]:
        message = parse(line)
        if isinstance(message, Noise):
            return [message, *self._unread(line)]
        method = message.get("method")
        if not isinstance(method, str):
            return self._answered(message) if "id" in message else [Noise(line, "neither method nor id")]
        params = mapping(message.get("params"))
        if "id" in message:
            return self._asked(message["id"], method, params)
        return self._notified(method, params)

    def _unread(self, line: bytes) -> list[Happening]:
        """Every request on the line gets an answer, and a request of ours whose answer cannot be read has failed."""
        happened: list[Happening] = []
        for head in jsonrpc.unread_heads(line):
            error = {"code": jsonrpc.INVALID_REQUEST, "message": "The message cannot be read"}
            if head.is_request:
                self._state.write_json({"id": head.id, "error": error})
            else:
                happened += self._answered({"id": head.id, "error": error})
        return happened

    def send(self, message: Message) -> None:
        self._state.begin()
        self._turn = ""
        self._content.turn()
        images = [{"type": "image", "url": f"data:{media};base64,{data}"} for media, data in message.images]
        text = {"type": "text", "text": with_files(message.text, message.files)}
        changes, self._next = self._next, {}
        self._request("turn/start", {"threadId": self._thread, "input": [text, *images], **changes})

    def cancel(self) -> list[Happening]:
        if not self._state.running or self._state.cancelling:
            return []
        for question in self._state.open_questions():
            self.answer(question, Answer(allowed=False, cancelled=True))
        self._state.cancelling = True
        if self._turn:  # else as soon as its id is known
            self._interrupt()
        return []

    def answer(self, request_id: str, answer: Answer) -> list[Happening]:
        context = self._state.take(request_id, denied=approvals.is_denial(answer))
        if context is None:
            return []
        rpc_id, method, params = context
        self._state.write_json({"id": rpc_id, "result": approvals.result(method, params, answer)})
        if approvals.is_denial(answer) and answer.reason and not answer.cancelled and self._turn:
            denial = {"type": "text", "text": f"The user denied this: {answer.reason}"}
            steer = {"threadId": self._thread, "expectedTurnId": self._turn, "input": [denial]}
            self._request("turn/steer", steer)
        return []

    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None:
        """Nothing: this agent touches files and processes itself."""

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        """From the next turn on."""
        try:
            changes = settings_of(mode, model, [option] if option else [])
        except KeyError:
            return False
        if "sandbox" in changes:
            changes["sandboxPolicy"] = {"type": POLICIES[changes.pop("sandbox")]}
        self._next.update(changes)
        return bool(changes)

    def close(self) -> None:
        """Nothing: the end of its input is the agent's goodbye."""

    def eof(self, exit_status: int | None) -> list[Happening]:
        return self._state.eof(exit_status)

    def outgoing(self) -> bytes:
        return self._state.outgoing()

    # --- the handshake, and answers to our requests

    def _answered(self, message: dict[str, Any]) -> list[Happening]:
        request_id = message.get("id")
        method = self._requests.pop(request_id, "") if isinstance(request_id, int) else ""
        if "error" in message:
            return self._refused(method, mapping(message.get("error")))
        result = mapping(message.get("result"))
        match method:
            case "initialize":
                agent = string(result.get("userAgent"))
                self._version = agent.partition("/")[2].partition(" ")[0]
                self._state.write_json({"method": "initialized"})
                self._open_thread()
            case "thread/start" | "thread/resume":
                return self._opened(result)
            case "turn/start":
                self._started(string(mapping(result.get("turn")).get("id")))
        return []

    def _refused(self, method: str, error: dict[str, Any]) -> list[Happening]:
        reason = string(error.get("message")) or "no reason given"
        match method:
            case "initialize":
                raise PeerError(
                    "handshake_failed", f"Codex refused to initialize: {reason}", error.get("code")
                )
            case "thread/start" | "thread/resume":
                if "auth" in reason.lower() or "log in" in reason.lower():
                    return [NeedsAuth(reason)]
                code = "resume_failed" if method == "thread/resume" else "session_refused"
                raise PeerError(code, f"Codex refused {method}: {reason}", error.get("code"))
            case "turn/start":
                return [*self._state.error(reason), *self._state.end(reason_of({}))]
            case "turn/steer" | "":
                return []  # the turn ended before the reason came
        return self._state.notice("request_refused", f"Codex refused {method}: {reason}")

    def _open_thread(self) -> None:
        method, params, of_the_turn = thread.request(self._opening)
        self._next.update(of_the_turn)
        self._request(method, params)

    def _opened(self, result: dict[str, Any]) -> list[Happening]:
        opened = thread.opened(result, self._opening, self._version)
        self._thread = opened.agent_session_id or ""
        return [opened]

    def _started(self, turn_id: str) -> None:
        if not self._state.running or not turn_id or turn_id in self._ended or self._turn == turn_id:
            return
        self._turn = turn_id
        if self._state.cancelling:
            self._interrupt()

    # --- what the agent reports

    def _notified(self, method: str, params: dict[str, Any]) -> list[Happening]:
        is_ours = string(params.get("threadId")) in {"", self._thread}
        match method:
            case "item/started" | "item/completed":
                is_done = method == "item/completed"
                return self._content.item(mapping(params.get("item")), is_done=is_done, is_ours=is_ours)
            case "serverRequest/resolved":
                rpc_id = params.get("requestId")
                return self._state.withdraw(self._state.question_about(lambda context: context[0] == rpc_id))
            case str() if method in _NOTED:
                text = string(params.get("message")) or string(params.get("summary")) or method
                return self._state.notice(_NOTED[method], text)
        return self._ours(method, params) if is_ours else []

    def _ours(self, method: str, params: dict[str, Any]) -> list[Happening]:
        """What concerns our own thread."""
        item = string(params.get("itemId"))
        match method:
            case "item/agentMessage/delta" | "item/plan/delta":
                return self._content.piece(item, string(params.get("delta")))
            case "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta":
                return self._content.thought(item, string(params.get("delta")))
            case "turn/started":
                self._started(string(mapping(params.get("turn")).get("id")))
            case "turn/completed":
                return self._finished(mapping(params.get("turn")))
            case "turn/plan/updated":
                return [AgentPlan(self._opening.session_id, plan_of(params.get("plan")))]
            case "thread/tokenUsage/updated":
                read = self._meter.read(string(params.get("turnId")), mapping(params.get("tokenUsage")))
                return [UsageUpdate(self._opening.session_id, *read)]
            case "error":
                error = mapping(params.get("error"))
                if params.get("willRetry") is True:
                    return self._state.notice("retry", string(error.get("message")))
                return self._failed(error)
            case "thread/settings/updated":
                model = string(mapping(params.get("settings")).get("model")) or string(params.get("model"))
                return [ModeChange(self._opening.session_id, model=model)] if model else []
        return []

    def _finished(self, turn: dict[str, Any]) -> list[Happening]:
        turn_id = string(turn.get("id"))
        if not self._state.running or turn_id in self._ended or (self._turn and turn_id != self._turn):
            return []
        self._ended.append(turn_id)
        usage = self._meter.turn(turn_id)
        match turn.get("status"):
            case "interrupted":
                return self._state.end(CANCELLED, "interrupted", usage)
            case "failed":
                error = mapping(turn.get("error"))
                failure = [] if self._state.failed else self._failed(error)
                return failure + self._state.end(reason_of(error), "failed", usage)
        return self._state.end(COMPLETED, usage=usage)

    def _failed(self, error: dict[str, Any]) -> list[Happening]:
        self._state.failed = True
        return [AgentError(failure(error), self._opening.session_id)]

    # --- what the agent asks

    def _asked(self, rpc_id: Any, method: str, params: dict[str, Any]) -> list[Happening]:
        if method not in _ASKING:
            error = {"code": -32601, "message": f"this client does not serve {method}"}
            self._state.write_json({"id": rpc_id, "error": error})
            return []
        is_unwanted = method == approvals.ELICITATION and not self._opening.elicitation
        if is_unwanted or not self._state.running or self._state.cancelling:
            refusal = Answer(allowed=False, cancelled=not is_unwanted)
            self._state.write_json({"id": rpc_id, "result": approvals.result(method, params, refusal)})
            return []
        call_id = string(params.get("itemId")) or None
        prompt = approvals.prompt(method, params, self._content.arguments.get(call_id or ""))
        called: list[Happening] = []
        if call_id and prompt.name:
            called = self._state.call(
                call_id, prompt.name, prompt.arguments, kind=prompt.kind, title=prompt.text
            )
        return called + self._state.ask((rpc_id, method, params), call_id=call_id, **prompt._asdict())

    # --- what we say

    def _request(self, method: str, params: dict[str, Any]) -> None:
        self._numbered += 1
        self._requests[self._numbered] = method
        self._state.write_json({"id": self._numbered, "method": method, "params": params})

    def _interrupt(self) -> None:
        self._request("turn/interrupt", {"threadId": self._thread, "turnId": self._turn})


ARM = Arm(
    name="codex-app-server",
    title="Codex app server",
    connect=CodexAppServer,
    adapters=("codex-app-server", "@agentproto/adapter-codex"),
)
