"""Claude Code's own protocol, `claude -p --input-format stream-json --output-format stream-json`, which qwen also speaks.

Command line, in the manifest: `-p --input-format stream-json --output-format stream-json --verbose
--include-partial-messages --permission-prompt-tool stdio`. Without the last option nothing is ever asked.

Handshake: the control request `initialize`. The agent reports its session id only with the first turn, and `system/init`
with every turn; the first one opens the session a second time, with what was learned.

Questions: `can_use_tool`. Allowing sends the input back unchanged; denying sends the reason and lets the turn go on. Rules
that the agent suggests are choices of their own. What the agent asks that a host of this kind does not do is refused.

Cancel: open questions are denied with `interrupt`, then the control request `interrupt`; the turn ends with its `result`.

Quirks of the agent, all covered: a line that it cannot read ends the process, so only whole JSON lines are written; a
failed request of the model is a `result` of subtype `success`; `total_cost_usd` runs on through the session; text is sent in
pieces and then again as a whole.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from operable.host.arm import Answer, Arm, Happening, Message, Noise, Opening, PeerError
from operable.host.claude import lifecycle, questions
from operable.host.claude.content import ClaudeContent, kind_of, rejected
from operable.host.claude.lifecycle import Meter, reason_of
from operable.host.claude.questions import Control
from operable.host.conversation import Conversation
from operable.host.peer import mapping, parse, session_word, string, with_files
from operable.wire.events import AgentError, ModeChange

_REMEMBERED: Final = 512  # ids of lines, to know one that comes twice
# Conversation goes on without these: keep-alives, hooks, tasks in the background, estimates of tokens.
_NOTED: Final = {
    "api_retry": "retry",
    "compact_boundary": "compacted",
    "model_refusal_fallback": "model_fallback",
}


class ClaudeStreamJson:
    """The host's side of one conversation."""

    def __init__(self) -> None:
        self._state = Conversation()
        self._content = ClaudeContent(self._state)
        self._opening = Opening(cwd="", session_id="")
        self._meter = Meter(resumed=False)
        self._control = Control(self._state)
        self._wanted: set[str] = set()  # requests of ours without which the session must not be used
        self._lines: deque[str] = deque(maxlen=_REMEMBERED)
        self._reported: tuple[str, str, str] = ("", "", "")  # session id, mode and model as last reported

    def open(self, opening: Opening) -> None:
        self._opening = opening
        self._state.session_id = opening.session_id
        self._meter = Meter(resumed=opening.resume is not None)
        self._control.request("initialize", None, hooks=None)

    def receive(self, line: bytes) -> list[Happening]:
        message = parse(line)
        if isinstance(message, Noise):
            return [message]
        line_id = message.get("uuid")
        if isinstance(line_id, str) and message.get("type") != "system":  # qwen puts its session id there
            if line_id in self._lines:
                return self._state.notice("repeated", f"The line {line_id} came a second time.")
            self._lines.append(line_id)
        return self._received(message, line)

    def send(self, message: Message) -> None:
        self._state.begin()
        self._content.turn()
        images = [
            {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
            for media_type, data in message.images
        ]
        text = {"type": "text", "text": with_files(message.text, message.files)}
        content = {"role": "user", "content": [text, *images]}
        self._state.write_json(
            {"type": "user", "message": content, "parent_tool_use_id": None, "session_id": self._reported[0]}
        )

    def cancel(self) -> list[Happening]:
        if not self._state.running or self._state.cancelling:
            return []
        for question in self._state.open_questions():
            self.answer(question, Answer(allowed=False, cancelled=True))
        self._state.cancelling = True
        self._control.request("interrupt", None)
        return []

    def answer(self, request_id: str, answer: Answer) -> list[Happening]:
        context = self._state.take(request_id, denied=not questions.is_allowed(answer))
        if context is None:
            return []
        control_id, how, request = context
        self._control.respond(
            control_id, questions.elicited(answer) if how == "elicitation" else _ANSWERS[how](request, answer)
        )
        return []

    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None:
        """Nothing: this agent touches files and processes itself."""

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        if option is not None and option[0] != "max_thinking_tokens":
            return False
        if mode is not None:
            self._control.request("set_permission_mode", mode, mode=mode)
        if model is not None:
            self._control.request("set_model", model, model=model)
        if option is not None:
            self._control.request("set_max_thinking_tokens", option[1], max_thinking_tokens=option[1])
        return any(given is not None for given in (mode, model, option))

    def close(self) -> None:
        """Nothing: the end of its input is the agent's goodbye."""

    def eof(self, exit_status: int | None) -> list[Happening]:
        return self._state.eof(exit_status)

    def outgoing(self) -> bytes:
        return self._state.outgoing()

    # --- what the agent says

    def _received(self, message: dict[str, Any], line: bytes) -> list[Happening]:
        parent = string(message.get("parent_tool_use_id")) or None
        match message.get("type"):
            case "stream_event":
                return self._content.streamed(mapping(message.get("event")), parent)
            case "assistant":
                return self._assistant(message, parent)
            case "user":
                return self._content.results(mapping(message.get("message")), rejected(message))
            case "result":
                return self._ended(message)
            case "system":
                return self._system(message)
            case "control_request":
                return self._asked(string(message.get("request_id")), mapping(message.get("request")))
            case "control_response":
                return self._answered(mapping(message.get("response")))
            case "control_cancel_request":
                return self._state.withdraw(self._question_of(string(message.get("request_id"))))
            case str():
                return []  # keep-alives, status of the login, summaries of tasks: of no matter to a conversation
        return [Noise(line, "no type")]

    def _assistant(self, message: dict[str, Any], parent: str | None) -> list[Happening]:
        if message.get("is_api_error_message") is True or message.get("error"):
            return []  # an error in the words of an answer; its `result` says it again
        return self._content.whole(mapping(message.get("message")), parent)

    def _ended(self, result: dict[str, Any]) -> list[Happening]:
        if not self._state.running:
            return []
        usage = self._meter.turn(result)
        reason, stop, failure = reason_of(result, cancelling=self._state.cancelling)
        happened: list[Happening] = []
        if failure is not None:
            happened.append(AgentError(failure, self._opening.session_id))
        elif not self._content.said:  # a slash command answers only here
            happened += self._state.text(string(result.get("result")))
        return happened + self._state.end(reason, stop, usage)

    def _system(self, message: dict[str, Any]) -> list[Happening]:
        subtype = string(message.get("subtype"))
        mode = string(message.get("permissionMode")) or string(message.get("permission_mode"))
        if subtype == "init":
            return self._initialised(message, mode)
        if subtype == "status" and mode and mode != self._reported[1]:
            self._reported = (self._reported[0], mode, self._reported[2])
            return [ModeChange(self._opening.session_id, mode)]
        if subtype in _NOTED:
            attempt = f" (attempt {message['attempt']})" if "attempt" in message else ""
            return self._state.notice(_NOTED[subtype], f"{subtype}{attempt}")
        return []

    def _initialised(self, message: dict[str, Any], mode: str) -> list[Happening]:
        """`system/init`, which comes with every turn."""
        before = self._reported
        self._reported = (string(message.get("session_id")), mode, string(message.get("model")))
        if before[0] == self._reported[0]:
            changed = (
                now if now and now != then else None
                for now, then in zip(self._reported[1:], before[1:], strict=True)
            )
            mode_change = ModeChange(self._opening.session_id, *changed)
            return [mode_change] if mode_change.mode or mode_change.model else []
        return [lifecycle.initialised(message, *self._reported)]

    def _asked(self, control_id: str, request: dict[str, Any]) -> list[Happening]:
        """A control request of the agent, which waits for its answer."""
        subtype = request.get("subtype")
        if subtype == "can_use_tool":
            return self._permission(control_id, request)
        if subtype == "elicitation":
            if not self._opening.elicitation or not self._state.running or self._state.cancelling:
                self._control.respond(control_id, {"action": "decline"})
                return []
            return self._state.ask(
                (control_id, "elicitation", request),
                text=string(request.get("message")),
                schema=request.get("requested_schema"),
                url=string(request.get("url")) or None,
            )
        if subtype == "request_user_dialog":
            self._control.respond(control_id, {"behavior": "cancelled"})
        else:
            self._control.refuse(control_id, f"This host does not serve {subtype!r}.")
        return []

    def _permission(self, control_id: str, request: dict[str, Any]) -> list[Happening]:
        # A request without a name is still one for permission, and no rule by name allows it.
        name, arguments = string(request.get("tool_name")) or "(unnamed)", mapping(request.get("input"))
        call_id = string(request.get("tool_use_id")) or f"call-{control_id}"
        title = string(request.get("description"))
        called = self._state.call(call_id, name, arguments, kind=kind_of(name), title=title)
        if not self._state.running or self._state.cancelling:
            self._control.respond(
                control_id, questions.permission(request, Answer(allowed=False, cancelled=True))
            )
            return called
        if questions.is_inquiry(request):
            return called + self._state.ask(
                (control_id, "inquiry", request),
                text=questions.inquiry_text(request),
                schema=questions.inquiry_schema(request),
                call_id=call_id,
            )
        return called + self._state.ask(
            (control_id, "permission", request),
            options=questions.choices(request),
            text=string(request.get("decision_reason")) or title,
            name=name,
            arguments=arguments,
            kind=kind_of(name),
            call_id=call_id,
        )

    def _answered(self, response: dict[str, Any]) -> list[Happening]:
        """The answer to a control request of ours."""
        request_id = string(response.get("request_id"))
        what, value = self._control.open.pop(request_id, ("", None))
        if response.get("subtype") != "success":
            return self._refused(what, string(response.get("error")) or "no reason given", request_id)
        match what:
            case "initialize":
                return self._handshake(mapping(response.get("response")))
            case "set_model":
                self._reported = (*self._reported[:2], value)
                return [ModeChange(self._opening.session_id, model=value)]
            case "mcp_set_servers":
                errors = mapping(mapping(response.get("response")).get("errors"))
                messages = (f"MCP server {name!r}: {error}" for name, error in errors.items())
                return [
                    notice
                    for message in messages
                    for notice in self._state.notice("mcp_server_failed", message)
                ]
        return []

    def _refused(self, what: str, error: str, request_id: str) -> list[Happening]:
        if what == "initialize":
            raise PeerError("handshake_failed", f"The agent refused to initialize: {error}")
        if request_id in self._wanted:
            raise PeerError("select_failed", f"The agent refused {what}: {error}")
        return self._state.notice("request_refused", f"The agent refused {what}: {error}") if what else []

    def _handshake(self, response: dict[str, Any]) -> list[Happening]:
        opening = self._opening
        if opening.mcp_servers:
            self._control.request("mcp_set_servers", None, servers=lifecycle.mcp_servers(opening))
        self.select(mode=opening.mode, model=opening.model)
        if unknown := [
            name for name, value in opening.options.items() if not self.select(option=(name, value))
        ]:
            raise PeerError("select_failed", f"This agent cannot be given: {', '.join(unknown)}.")
        self._wanted = set(self._control.open)
        return [lifecycle.accepted(opening, response)]

    def _question_of(self, control_id: str) -> str | None:
        return self._state.question_about(lambda context: context[0] == control_id)


_ANSWERS: Final = {"permission": questions.permission, "inquiry": questions.inquiry}


ARM = Arm(
    name="claude-stream-json",
    title="Claude Code stream-json (claude, qwen)",
    connect=ClaudeStreamJson,
    adapters=("claude-stream-json", "@agentproto/adapter-claude-code", "@agentproto/adapter-qwen-code"),
    resume_arguments=lambda session_id: ("--resume", session_word(session_id)),
)
