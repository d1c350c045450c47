"""Tool calls of a session: every call is announced once, before its result, and every announced call gets one result.

Theory of operation. Agents report a call in any order they like: some start it empty and fill in the arguments while the
model still writes them (Claude, opencode), some update it before they start it (Cline), some only ask for permission and
never start it (Gemini), some never say how it ended (hermes, Codex after a denial). A call is therefore *held* while it is
pending, and announced when it must be known: it runs, it asks, it ended, the turn ended; or when the agent, having given
arguments, goes on to something else. A call without an end is closed as an error at the end of its turn.

A call that is announced again with another tool, kind, arguments or files is `CallRevised`: whether that is still what was
allowed is for the gate to say. What comes for a call that is closed already is late: it becomes a notice, never an event
of a turn, but the gate judges it, and another form of it is still announced. An id that is started again in another turn,
or that then has another kind or other arguments, is another call and gets another id.
"""

import base64
import binascii
from typing import Any, Final

from operable.host.acp.call import AcpCall, Marks, contradict, joined
from operable.host.acp.values import tool_content
from operable.host.arm import CallRevised, LateCall
from operable.wire import events
from operable.wire.acp import ToolFields
from operable.wire.events import Notice, change_digest

_FINAL: Final = frozenset({"completed", "failed", "cancelled"})
_REMEMBERED: Final = 4096
"""Ids of closed calls that are kept, to distinguish late results from new calls."""
_KEPT: Final = 256
"""Calls of earlier turns whose form is kept. A report about an older one that says what it is counts as a new call."""
_TERMINAL_LIMIT: Final = 1024 * 1024
"""Bytes of output kept of an agent's own terminal; what is more belongs in the agent's log."""
_NOW, _BEFORE = "in this turn", "in an earlier turn"
"""When a call was closed: an id that is started again in the same turn is an echo, in another turn a new call."""
_UNTOLD: Final = "The agent reported no result."
_DENIED: Final = "The call was denied."

CallEvent = events.ToolCall | events.ToolResult | Notice | CallRevised | LateCall


class Calls:
    """The tool calls of one session."""

    def __init__(self, session_id: str, marks: Marks | None = None) -> None:
        self._session_id = session_id
        self._marks = marks or Marks()
        self._open: dict[str, AcpCall] = {}
        self._closed: dict[str, str] = {}
        self._ended: dict[str, AcpCall] = {}  # closed: all of this turn, and the last ones of those before
        self._used: dict[str, int] = {}
        self._terminals: dict[str, bytearray] = {}
        self.holding = False
        """Whether a call with arguments waits to be announced; `passed_over` announces it."""

    # --- what the agent says about a call ----------------------------------------------------------------------------

    def report(self, fields: ToolFields, *, starts: bool) -> list[CallEvent]:
        """A start or an update of a call inside a turn."""
        call = self._open.get(fields.tool_call_id)
        happenings: list[CallEvent] = []
        if self.holding:
            happenings = self.passed_over(but=call)
        if call is None:
            closed = self._closed.get(fields.tool_call_id)
            if closed == _NOW:
                ended = self._ended[fields.tool_call_id]
                ended.merge(fields, self._marks)
                return [*happenings, *self._revised(ended), *self.late(fields)]
            if closed and not starts and not self._is_another(fields):
                return [*happenings, *self.late(fields)]
            call = self._begin(fields.tool_call_id)
        before = len(call.content)
        call.merge(fields, self._marks)
        happenings += self._revised(call)
        if call.status in _FINAL:
            return [*happenings, *self._finish(fields.tool_call_id, call)]
        # A start that shows something already (hermes) is not one that is still being written.
        if not call.reported and (call.status != "pending" or (starts and call.content)):
            return [*happenings, *self._tell(call)]
        if call.reported and call.content and (fields.content is not None or len(call.content) != before):
            return [*happenings, *self._progress(call)]
        self.holding = self.holding or (not call.reported and bool(call.arguments))
        return happenings

    def report_outside(self, fields: ToolFields) -> list[CallEvent]:
        """A report while no turn runs: it is not an event of a turn, but the gate judges it."""
        if fields.tool_call_id in self._closed and not self._is_another(fields):
            return self.late(fields)
        said = self.report(fields, starts=False)
        self.holding = False
        return [each for event in said for each in self._outside_turn(event)]

    def begin_turn(self) -> None:
        """What was begun between turns is not a call of this one: its end will be late."""
        for key in list(self._open):
            self._close(key)
        self._closed = dict.fromkeys(self._closed, _BEFORE)

    @staticmethod
    def ends(fields: ToolFields) -> bool:
        """Whether a report is the last one about its call."""
        return fields.status in _FINAL

    def ask(self, fields: ToolFields) -> tuple[list[CallEvent], events.ToolCall, tuple[dict[str, Any], ...]]:
        """A request for permission: the call is announced first.

        Gives the call that is asked about, under its public id, and the changes that it shows beside its arguments.
        """
        own = self._open.get(fields.tool_call_id)
        if own is None and (own := self._meant(fields)) is None:
            own = self._begin(fields.tool_call_id)
        happenings = self.passed_over(but=own) if self.holding else []
        own.asked = True
        # The question may carry other words for the arguments than the call does (opencode adds a diff): what is asked
        # about is what the question says, and a call that is known already keeps its own.
        asked = own.copy()
        asked.merge(fields, self._marks)
        if not own.reported:
            own.arguments = joined(own.arguments, asked.arguments)
            own.content, own.locations, own.kind = asked.content, asked.locations, asked.kind
            own.title, own.name, own.unnamed = own.title or asked.title, asked.name, asked.unnamed
        self.holding = False
        return [*happenings, *self._tell(own)], self._event(asked), self._shown(asked)

    def deny(self, public_id: str | None) -> None:
        """The host has denied this call."""
        for call in self._open.values():
            if call.id == public_id:
                call.denied = True

    def output(self, tool_call_id: str, item: Any) -> list[CallEvent]:
        """One more piece of content of a call (version 2)."""
        call = self._open.get(tool_call_id)
        if call is None:
            return []
        call.content = [*call.content, item]
        return self._progress(call) if call.reported else []

    def terminal(self, terminal_id: str, data: Any, *, whole: bool) -> None:
        """Output of a terminal of the agent (version 2), in base64."""
        if not isinstance(data, str):
            return
        try:
            piece = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return
        kept = self._terminals.setdefault(terminal_id, bytearray())
        if whole:
            kept.clear()
        kept += piece[: _TERMINAL_LIMIT - len(kept)]

    # --- what follows from other messages ----------------------------------------------------------------------------

    def passed_over(self, but: AcpCall | None = None) -> list[CallEvent]:
        """The agent goes on to something else: calls whose arguments are there are announced now."""
        self.holding = False
        happenings: list[CallEvent] = []
        for call in self._open.values():
            if call is not but and not call.reported and call.arguments:
                happenings += self._tell(call)
            elif call is but and not call.reported and call.arguments:
                self.holding = True
        return happenings

    def end_turn(self) -> list[CallEvent]:
        """Close what is open; whatever comes for these calls from now on is late."""
        happenings: list[CallEvent] = []
        for key, call in list(self._open.items()):
            happenings += self._tell(call)
            happenings.append(
                events.ToolResult(
                    self._session_id, call.id, _DENIED if call.denied else _UNTOLD, True, call.denied
                )
            )
            self._close(key)
        self._open.clear()
        self._terminals.clear()
        for key in list(self._ended)[:-_KEPT]:
            del self._ended[key]
        self.holding = False
        self._closed = dict.fromkeys(self._closed, _BEFORE)
        return happenings

    def late(self, fields: ToolFields) -> list[CallEvent]:
        """Something about a call that is closed, or outside of any turn."""
        if fields.status not in _FINAL:
            return []
        ended = self._ended.get(fields.tool_call_id)
        call = AcpCall(fields.tool_call_id if ended is None else ended.id)
        call.merge(fields, self._marks)
        failed, result = call.status != "completed", self._result(call)
        data = {"toolCallId": call.id, "status": call.status, "result": result}
        message = "A tool call ended after its result had been reported."
        late = LateCall(events.ToolResult(self._session_id, call.id, result, failed))
        return [Notice("late_result", message, self._session_id, data), late]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _outside_turn(self, event: CallEvent) -> list[CallEvent]:
        if isinstance(event, events.ToolCall):
            message = f"{event.tool_name} was called while no turn runs."
            data = {"toolCallId": event.tool_call_id, "kind": event.kind, "arguments": event.arguments}
            return [Notice("late_tool_call", message, self._session_id, data), LateCall(event)]
        if isinstance(event, CallRevised):
            return [event.notice, LateCall(event)]
        if isinstance(event, events.ToolResult):
            message = "A tool call ended while no turn runs."
            data = {"toolCallId": event.tool_call_id, "isError": event.is_error, "result": event.result}
            return [Notice("late_result", message, self._session_id, data), LateCall(event)]
        return [event]

    def _begin(self, key: str) -> AcpCall:
        count = self._used[key] = self._used.get(key, 0) + 1
        if len(self._used) > _REMEMBERED:
            self._forget()
        call = self._open[key] = AcpCall(key if count == 1 else f"{key}#{count}")
        self._closed.pop(key, None)
        return call

    def _forget(self) -> None:
        # Only the older half, and nothing that is open: the number of an id must not start again while it is in use.
        for key in list(self._used)[: _REMEMBERED // 2]:
            if key not in self._open:
                self._closed.pop(key, None)
                del self._used[key]

    def _meant(self, fields: ToolFields) -> AcpCall | None:
        """The open call that a question under an id of its own is about (hermes): the last of its kind not asked about.

        Only where the question says what is to be done: one without arguments (Gemini) is the first word about its call.
        """
        if not isinstance(fields.raw_input, dict) or fields.tool_call_id in self._closed:
            return None
        for call in reversed(self._open.values()):
            if (
                call.kind == fields.kind
                and not call.asked
                and not contradict(call.arguments, fields.raw_input)
            ):
                return call
        return None

    def _is_another(self, fields: ToolFields) -> bool:
        """Whether a late report says something else than the call that has ended: then it is a call of its own."""
        ended = self._ended.get(fields.tool_call_id)
        if ended is None:
            return bool(fields.raw_input or fields.kind)
        revised = ended.copy()
        revised.merge(fields, self._marks)
        return (revised.kind, revised.arguments, revised.locations) != (
            ended.kind,
            ended.arguments,
            ended.locations,
        )

    def _tell(self, call: AcpCall) -> list[CallEvent]:
        if call.reported:
            return []
        call.reported = True
        call.form = call.current_form()
        return [self._event(call)]

    def _revised(self, call: AcpCall) -> list[CallEvent]:
        """The new form of a call that was announced in another one."""
        if not call.reported or call.form == (form := call.current_form()):
            return []
        call.form = form
        return [CallRevised(self._event(call))]

    def _event(self, call: AcpCall) -> events.ToolCall:
        arguments = call.arguments
        content = tool_content(call.content)
        if arguments in (None, {}, []):
            # Gemini gives no arguments at all: what it shows to people is all there is to judge by.
            arguments = {**({"title": call.title} if call.title else {}), **content}
        changed = [
            path for diff in content.get("diffs", ()) for path in (diff.get("path"), *diff.get("paths", ()))
        ]
        return events.ToolCall(
            self._session_id,
            call.id,
            call.name or call.kind,
            arguments,
            call.kind,
            call.title,
            tuple(dict.fromkeys((*call.locations, *(path for path in changed if isinstance(path, str))))),
            call.unnamed,
            tuple(_sealed(diff) for diff in self._shown(call)),
        )

    @staticmethod
    def _shown(call: AcpCall) -> tuple[dict[str, Any], ...]:
        """The changes beside the arguments; without arguments they are in their place already."""
        if call.arguments in (None, {}, []):
            return ()
        return tuple(tool_content(call.content).get("diffs", ()))

    def _finish(self, key: str, call: AcpCall) -> list[CallEvent]:
        happenings = self._tell(call)
        failed = call.status != "completed"
        denied = call.denied and failed
        happenings.append(events.ToolResult(self._session_id, call.id, self._result(call), failed, denied))
        self._close(key)
        return happenings

    def _close(self, key: str) -> None:
        call = self._open.pop(key, None)
        self._closed[key] = _NOW
        if call is not None:
            call.output, call.content = None, [item for item in call.content if _is_diff(item)]
            self._ended[key] = call

    def _result(self, call: AcpCall) -> Any:
        if call.output is not None:
            return call.output
        content = tool_content(call.content)
        shown = [self._terminals.get(name) for name in content.pop("terminals", ())]
        output = b"".join(bytes(piece) for piece in shown if piece).decode("utf-8", "replace")
        if output:
            content["text"] = f"{content['text']}\n{output}" if "text" in content else output
        if not content:
            return None
        return content["text"] if content.keys() == {"text"} else content

    def _progress(self, call: AcpCall) -> list[CallEvent]:
        text = tool_content(call.content).get("text", "")
        if not text:
            return []
        return [Notice("tool_progress", text, self._session_id, {"toolCallId": call.id})]


def _sealed(diff: dict[str, Any]) -> dict[str, Any]:
    """A change by its digest: the log has its content once, in the arguments, in the question or in the result."""
    places: dict[str, Any] = {name: diff[name] for name in ("path", "paths") if name in diff}
    return {**places, "digest": change_digest(diff)}


def _is_diff(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "diff"
