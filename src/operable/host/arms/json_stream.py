"""JSON-stream: agents that speak JSON lines as aionrs and `operable-agent` do, versions 0.1.0 and 0.2.0.

Handshake: the agent's `ready`; then, in this order, what must come before the first message: `add_mcp_server` (any other
command ends the time for it), `init_history`, `set_mode`, `set_config`.

Questions: `tool_request`. Allowing sends scope `once`; `always` is sent only when that very choice was made, because it
allows the whole category of the tool, not this tool. Denying sends the reason, which the agent feeds to its model.

Cancel: open questions are denied, then `stop`. A conforming agent answers `stream_end`. The reference agent does not: it
waits for the end of its input and exits. It is then started again with its session, and the turn is cancelled all the same.
While no turn runs nothing is sent: an idle reference agent would also wait for that end.

Versions: the reference agent puts its own release into `ready.version`. So what a peer can do is decided by its
capabilities (`modes` means that it can be configured), and a message has both names of its text. A version above 0 gives a
notice: no document says what it means.

Quirks (`metadata.operable` of the manifest): `usage: session` or `usage: turn` says what the counters of `stream_end` count.
Without it, a `ready.version` that is none of the protocol's own (the reference agent counts per session) means session.
"""

import re
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from operable.host.arm import Answer, Arm, Happening, Message, Noise, Opened, Opening, PeerError
from operable.host.conversation import Conversation
from operable.host.peer import Odometer, count, pairs, session_word, transport
from operable.wire import json_stream as wire
from operable.wire.events import CANCELLED, COMPLETED, ERROR, Choice, ModeChange, ToolCall, ToolResult, Usage

_ONCE: Final = Choice("once", "Allow this call", "allow_once")
_CATEGORY: Final = "Allow every tool of this category in this session"  # the draft's meaning of `always`
_DENY: Final = Choice("deny", "Deny", "reject_once")
_KINDS: Final = {"info": "read", "edit": "edit", "exec": "execute"}
# Of tools whose call was announced by `tool_running` alone, which has no category.
_KINDS_BY_NAME: Final = {
    "Read": "read",
    "ViewImage": "read",
    "Glob": "search",
    "Grep": "search",
    "ToolSearch": "search",
    "Write": "edit",
    "Edit": "edit",
    "Bash": "execute",
    "ExecCommand": "execute",
    "Spawn": "execute",
    "UpdatePlan": "think",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
}
# Lines with which the reference agent says a second time what its tool events have said.
_ECHO: Final = re.compile(r"Tool call: |\[\S+ (success|error)\]")
_CONFIGURABLE: Final = frozenset(
    {"model", "image_input", "thinking", "thinking_budget", "effort", "compaction"}
)
_OWN_VERSIONS: Final = (wire.SEED_VERSION, wire.VERSION)
_NO_SERVERS: Final = re.compile(r"v?0\.1\.([0-9]|10)$")
_REMEMBERED: Final = 100  # ids of earlier messages, to know what is late


class JsonStream:
    """The host's side of one conversation."""

    def __init__(self) -> None:
        self._state = Conversation()
        self._opening = Opening(cwd="", session_id="")
        self._ready: wire.ReadyFrame | None = None
        self._message_id = ""
        self._sent = 0
        self._earlier: deque[str] = deque(maxlen=_REMEMBERED)
        self._begun: set[str] = set()  # ids under which the agent began the running turn, besides ours
        self._meter = Odometer()
        self._is_counted = True  # the meter knows where the agent's counters are

    def open(self, opening: Opening) -> None:
        """Begin a conversation, or go on with it in another process: the counters of the agent go on then."""
        if self._ready is None and opening.resume:
            self._is_counted = opening.used is not None
            self._meter.start(opening.used or Usage())
        self._opening, self._ready = opening, None
        self._state.session_id = opening.session_id

    def receive(self, line: bytes) -> list[Happening]:
        try:
            event = wire.decode_event(line)
        except wire.BadFrame as error:
            return [Noise(line, str(error))]
        if isinstance(event, wire.UnknownFrame):
            return self._state.notice("unknown_event", f"The agent sent {event.type!r}.", event.fields)
        message_id = getattr(event, "msg_id", None)
        if message_id and message_id != self._message_id and message_id in self._earlier:
            return self._came_late(event)
        if isinstance(event, wire.StreamStartFrame) and self._state.running:
            self._begun.add(event.msg_id)
        return self._happened(event)

    def send(self, message: Message) -> None:
        self._state.begin()
        self._sent += 1
        if self._message_id:
            self._earlier.append(self._message_id)
        self._message_id = message.message_id or f"m{self._sent}"
        self._begun.clear()
        self._write(wire.message(self._message_id, message.text, tuple(message.files)))

    def cancel(self) -> list[Happening]:
        if not self._state.running or self._state.cancelling:
            return []
        for question in self._state.open_questions():
            self.answer(question, Answer(allowed=False, cancelled=True))
        self._state.cancelling = True
        self._write(wire.StopFrame())
        return []

    def answer(self, request_id: str, answer: Answer) -> list[Happening]:
        is_allowed = answer.allowed and not answer.cancelled and answer.option_id != "deny"
        call_id = self._state.take(request_id, denied=not is_allowed)
        if call_id is None:
            return []
        if is_allowed:
            self._write(
                wire.ToolApproveFrame(
                    call_id=call_id, scope="always" if answer.option_id == "always" else "once"
                )
            )
        else:
            reason = answer.reason or ("The user cancelled the turn." if answer.cancelled else "Denied.")
            self._write(wire.ToolDenyFrame(call_id=call_id, reason=reason))
        return []

    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None:
        """Nothing: an agent of this protocol asks its host only for permission."""

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        settings: dict[str, Any] = {"model": model} if model is not None else {}
        if option is not None:
            settings[option[0]] = option[1]
        if settings and not (self._is_configurable() and settings.keys() <= _CONFIGURABLE):
            return False
        if mode is not None:
            self._write(wire.SetModeFrame(mode=mode))
        if settings:
            self._write(wire.SetConfigFrame(**settings))
        return mode is not None or bool(settings)

    def ping(self) -> bool:
        """Ask for a sign of life, which comes as a Notice `pong`; False: this version has none."""
        if not self._is_configurable():
            return False
        self._write(wire.PingFrame())
        return True

    def close(self) -> None:
        """Nothing: the end of its input is the agent's goodbye."""

    def eof(self, exit_status: int | None) -> list[Happening]:
        return self._state.eof(exit_status)

    def outgoing(self) -> bytes:
        return self._state.outgoing()

    # --- what the agent says

    def _happened(self, event: wire.Event) -> list[Happening]:  # noqa: C901, PLR0911, PLR0912 - one case per kind of event
        state = self._state
        match event:
            case wire.ReadyFrame():
                return self._opened(event)
            case wire.TextDeltaFrame():
                return state.text(event.text, event.msg_id or None)
            case wire.ThinkingFrame():
                return state.thought(event.text)
            case wire.ToolRequestFrame(call_id=call_id, tool=tool):
                return self._requested(call_id, tool, event.always)
            case wire.ToolRunningFrame(call_id=call_id, tool=wire.FrameTool() as tool):
                return state.call(call_id, tool.name, tool.args, kind=_kind(tool), title=_title(tool))
            case wire.ToolRunningFrame(call_id=call_id, tool_name=name):
                return state.call(call_id, name, kind=_KINDS_BY_NAME.get(name, "other"))
            case wire.ToolResultFrame(call_id=call_id, tool_name=name):
                called: list[Happening] = []
                if (own := event.tool) is not None and not state.knows(
                    call_id
                ):  # it ended without having run
                    called = state.call(call_id, own.name, own.args, kind=_kind(own), title=_title(own))
                is_error = event.status != "success"
                return called + state.result(call_id, _output(event), is_error=is_error, name=name)
            case wire.ToolCancelledFrame(call_id=call_id):
                return state.result(call_id, event.reason, is_error=True)
            case wire.StreamEndFrame():
                return self._ended(event)
            case wire.ErrorFrame(error=problem):
                data = problem.extra or None
                return state.error(problem.message, problem.code, retryable=problem.retryable, data=data)
            case wire.InfoFrame():
                is_echo = event.msg_id == "" and _ECHO.match(event.message)
                return [] if is_echo else state.notice("info", event.message)
            case wire.ConfigChangedFrame():
                return self._changed(event.capabilities)
            case wire.McpReadyFrame():
                return state.notice("mcp_ready", f"MCP server {event.name!r} is ready.", list(event.tools))
            case wire.PongFrame():
                return state.notice("pong", "The agent is alive.")
            case _:  # stream_start: the turn began when its message was sent
                return []

    def _opened(self, ready: wire.ReadyFrame) -> list[Happening]:
        if self._ready is not None:
            return self._state.notice("outside_turn", "The agent said `ready` a second time.")
        self._ready = ready
        self._prepare(self._opening)
        abilities = ready.capabilities
        observed = {"tool_calls": True, "streaming": True, "bidirectional": abilities.tool_approval}
        if abilities.image_input in {"supported", "unsupported"}:
            observed["multimodal"] = abilities.image_input == "supported"
        if ready.session_id is None:
            observed["resumable"] = False
        model = abilities.extra.get("current_model")
        return [
            *self._foreign_version(ready.version),
            Opened(
                ready.session_id,
                protocol_version=ready.version,
                capabilities={name: value for name, value in _facts(abilities).items() if value is not None},
                modes=abilities.modes or wire.MODES,
                current_mode=abilities.current_mode,
                current_model=model if isinstance(model, str) else None,
                observed=observed,
            ),
        ]

    def _foreign_version(self, version: str) -> list[Happening]:
        """A notice about a major version that this host does not know: it may be the agent's own release."""
        major = re.match(r"v?(\d+)\.", version)
        if major is None or major[1] == "0":
            return []
        text = f"The agent says version {version}; this host knows {wire.SEED_VERSION} and {wire.VERSION}."
        return self._state.notice("protocol_version", text, {"version": version})

    def _prepare(self, opening: Opening) -> None:
        """What must be said before the first message, in the order that the reference agent needs."""
        if opening.mcp_servers and not self._takes_servers():
            raise PeerError("mcp_unsupported", "This version of the protocol has no way to add MCP servers.")
        for server in opening.mcp_servers:
            self._write(_mcp_server(server))
        if opening.history:
            self._write(wire.InitHistoryFrame(text=opening.history))
        self.select(mode=opening.mode)
        settings = {**({"model": opening.model} if opening.model else {}), **opening.options}
        if unknown := [name for name, value in settings.items() if not self.select(option=(name, value))]:
            raise PeerError("select_failed", f"This agent cannot be given: {', '.join(unknown)}.")

    def _came_late(self, event: wire.Event) -> list[Happening]:
        """Something for an earlier message. What the agent does then is still judged."""
        state, session_id = self._state, self._opening.session_id
        match event:
            case wire.ToolRequestFrame(call_id=call_id, tool=tool):
                self._write(wire.ToolDenyFrame(call_id=call_id, reason="The turn has ended."))
                return state.call_late(ToolCall(session_id, call_id, tool.name, tool.args, _kind(tool)))
            case wire.ToolRunningFrame(call_id=call_id, tool_name=name) if not state.has_seen(call_id):
                tool = event.tool or wire.FrameTool(name=name, category="")
                return state.call_late(ToolCall(session_id, call_id, tool.name, tool.args, _kind(tool)))
            case wire.ToolResultFrame(call_id=call_id, tool_name=name):
                result = ToolResult(session_id, call_id, _output(event), event.status != "success")
                return state.result_late(result, name)
        return state.notice("outside_turn", f"The agent sent {_tag(event)!r} for an earlier message.")

    def _requested(self, call_id: str, tool: wire.FrameTool, lasting: str | None) -> list[Happening]:
        state = self._state
        if not state.running or state.cancelling:
            # No user is there to decide, and an agent without an answer waits forever.
            self._write(wire.ToolDenyFrame(call_id=call_id, reason="The turn was cancelled."))
            return state.call(call_id, tool.name, tool.args, kind=_kind(tool), title=tool.description)
        called = state.call(call_id, tool.name, tool.args, kind=_kind(tool), title=_title(tool))
        if state.question_about(call_id.__eq__) is not None:
            return called
        return called + state.ask(
            call_id,
            options=_choices(lasting),
            text=_title(tool),
            name=tool.name,
            arguments=tool.args,
            kind=_kind(tool),
            call_id=call_id,
        )

    def _ended(self, event: wire.StreamEndFrame) -> list[Happening]:
        if not self._state.running:
            return []
        if event.msg_id and event.msg_id not in {self._message_id, *self._begun}:
            return self._state.notice(
                "outside_turn", f"The agent ended {event.msg_id[:80]!r}, which is not the turn."
            )
        reason = CANCELLED if self._state.cancelling else ERROR if self._state.failed else COMPLETED
        return self._state.end(reason, usage=self._turn_usage(event.usage) if event.usage else None)

    def _turn_usage(self, usage: wire.FrameUsage) -> Usage | None:
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        total = Usage(*(count(getattr(usage, name)) for name in names))
        if not self._counts_per_session() or total == Usage():
            return total
        is_counted, self._is_counted = self._is_counted, True
        used = self._meter.turn(total)
        return used if is_counted else None

    def _counts_per_session(self) -> bool:
        scope = self._opening.quirks.get("usage")
        if scope in {"session", "turn"}:
            return bool(scope == "session")
        return self._ready is not None and self._ready.version not in {*_OWN_VERSIONS, ""}

    def _changed(self, abilities: wire.FrameCapabilities) -> list[Happening]:
        model = abilities.extra.get("current_model")
        return [
            ModeChange(
                self._opening.session_id,
                abilities.current_mode,
                model if isinstance(model, str) else None,
                {name: value for name, value in _facts(abilities).items() if value is not None},
            )
        ]

    def _is_configurable(self) -> bool:
        """Whether the peer has the commands that are newer than 0.1.0."""
        return self._ready is not None and self._ready.capabilities.modes is not None

    def _takes_servers(self) -> bool:
        """The reference agent has had `modes` since its release 0.1.9, and taken MCP servers since 0.1.11."""
        release = _NO_SERVERS.match(self._ready.version) if self._ready else None
        return self._is_configurable() and release is None

    def _write(self, command: wire.Command) -> None:
        self._state.write(wire.encode(command))


def _tag(event: wire.Event) -> str:
    return str(event.__struct_config__.tag)


def _choices(lasting: str | None) -> tuple[Choice, ...]:
    """What may be answered. `lasting`: what the agent says that `always` covers; empty: nothing else than this call."""
    if lasting == "":
        return _ONCE, _DENY
    covered = _CATEGORY if lasting is None else f"Allow in this session: {lasting}"
    return _ONCE, Choice("always", covered, "allow_always"), _DENY


def _kind(tool: wire.FrameTool) -> str:
    by_name = _KINDS_BY_NAME.get(tool.name)
    return _KINDS.get(tool.category) or by_name or "other" if tool.category != "info" else by_name or "read"


def _title(tool: wire.FrameTool) -> str:
    """With the sub-agent that makes the call."""
    return f"{tool.agent}: {tool.description}" if tool.agent and tool.description else tool.description


def _output(event: wire.ToolResultFrame) -> Any:
    if event.output_type == "text" and event.metadata is None:
        return event.output
    fields = {"type": event.output_type, "output": event.output, "metadata": event.metadata}
    return {name: value for name, value in fields.items() if value is not None}


def _facts(abilities: wire.FrameCapabilities) -> dict[str, Any]:
    names = (name for name in abilities.__struct_fields__ if name != "extra")
    return {**{name: getattr(abilities, name) for name in names}, **abilities.extra}


def _mcp_server(server: Mapping[str, Any]) -> wire.AddMcpServerFrame:
    reached_by = transport(server)
    return wire.AddMcpServerFrame(
        name=str(server.get("name", "")),
        transport="streamable-http" if reached_by == "http" else reached_by,
        command=server.get("command"),
        args=tuple(server["args"]) if server.get("args") else None,
        env=pairs(server.get("env")) or None,
        url=server.get("url"),
        headers=pairs(server.get("headers")) or None,
    )


ARM = Arm(
    name="json-stream",
    title="JSON-stream 0.1.0 and 0.2.0 (aionrs, operable-agent)",
    connect=JsonStream,
    adapters=("json-stream", "aionrs", "@agentproto/adapter-aionrs"),
    resume_arguments=lambda session_id: ("--resume", session_word(session_id)),
    restarts=True,
)
