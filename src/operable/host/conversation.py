"""What every connection keeps: bytes to write, the running turn, its tool calls, and the questions that wait for an answer.

The promises of `operable.host.arm` are kept here, once, for the arms that use it: one TurnEnd per turn, one ToolResult per
ToolCall and never before it, nothing of a turn outside of it, no answer to a question that is no longer open. An arm says
what it understood (`text`, `call`, `result`, `ask`, `end`…) and returns what it gets back; a line that comes at the wrong
moment, twice or never, thus cannot break the order of events. No I/O, no clock.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from operable.host.agent_failure import classified, explained
from operable.host.arm import CallRevised, CallWithdrawn, Happening, LateCall
from operable.kernel.json import json_line
from operable.wire.events import (
    CANCELLED,
    ERROR,
    TOOL_KINDS,
    AgentError,
    AgentPrompt,
    Choice,
    Failure,
    Notice,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)

# Calls without result of ended turns that are remembered, so that a late result is known for what it is.
_REMEMBERED: Final = 1000
_QUOTED: Final = 200  # characters of what came at the wrong moment


class Conversation:
    """The state of one connection."""

    def __init__(self) -> None:
        self.session_id = ""
        self.running = False
        self.cancelling = False
        self.failed = False  # the last thing of this turn was an error
        self._written: list[bytes] = []
        self._calls: dict[str, bool] = {}  # of this turn; True: still without result
        self._reported: dict[str, ToolCall] = {}  # the same, as they were reported last
        self._denied: set[str] = set()
        self._abandoned: deque[str] = deque(maxlen=_REMEMBERED)
        self._seen: deque[str] = deque(maxlen=_REMEMBERED)  # calls of all turns, and between them
        self._questions: dict[str, tuple[str | None, Any]] = {}
        self._asked = 0

    # --- bytes

    def write(self, data: bytes) -> None:
        self._written.append(data)

    def write_json(self, value: Any) -> None:
        self._written.append(json_line(value))

    def outgoing(self) -> bytes:
        data = b"".join(self._written)
        self._written.clear()
        return data

    # --- a turn

    def begin(self) -> None:
        if self.running:
            raise RuntimeError("a turn is running; the session sends one message at a time")
        self.running = True
        self.cancelling = False
        self.failed = False

    def text(self, text: str, message_id: str | None = None) -> list[Happening]:
        if not text:
            return []
        self.failed = False
        if not self.running:
            return self._outside("text", text)
        return [TextDelta(self.session_id, text, message_id)]

    def thought(self, text: str) -> list[Happening]:
        if not text:
            return []
        self.failed = False
        return [Thought(self.session_id, text)] if self.running else self._outside("thought", text)

    def call(
        self,
        call_id: str,
        name: str,
        arguments: Any = None,
        *,
        kind: str = "other",
        title: str = "",
        locations: Sequence[str] = (),
    ) -> list[Happening]:
        """A tool call; the same one a second time is nothing new, and what is left out then is as it was."""
        kind = kind if kind in TOOL_KINDS else "other"
        if call_id in self._calls:
            before = self._reported[call_id]
            call = replace(
                before,
                tool_name=name or before.tool_name,
                arguments=arguments or before.arguments,
                kind=kind if kind != "other" else before.kind,
                locations=tuple(locations) or before.locations,
            )
            self._reported[call_id] = call
            return [] if call == before else [CallRevised(call)]
        self.failed = False
        arguments = {} if arguments is None else arguments
        call = ToolCall(self.session_id, call_id, name or "unknown", arguments, kind, title, tuple(locations))
        if not self.running:
            return self.call_late(call)
        self._seen.append(call_id)
        self._calls[call_id] = True
        self._reported[call_id] = call
        return [call]

    def knows(self, call_id: str) -> bool:
        return call_id in self._calls

    def has_seen(self, call_id: str) -> bool:
        """Whether the call was announced, in this turn or before it."""
        return call_id in self._seen

    def call_late(self, call: ToolCall) -> list[Happening]:
        """A tool call that belongs to no running turn: the gate still judges it."""
        self._seen.append(call.tool_call_id)
        return [*self._outside("tool call", call.tool_name), LateCall(call)]

    def result_late(self, result: ToolResult, name: str = "") -> list[Happening]:
        """A result that belongs to no running turn; of a call that was never announced, the call comes first."""
        announced: list[Happening] = []
        if not self.has_seen(result.tool_call_id):
            self._seen.append(result.tool_call_id)
            announced = [LateCall(ToolCall(self.session_id, result.tool_call_id, name or "unknown", {}))]
        notice = self._outside("tool result", result.tool_call_id, code="late_tool_result")
        return [*notice, *announced, LateCall(result)]

    def result(
        self,
        call_id: str,
        result: Any = None,
        *,
        is_error: bool = False,
        denied: bool = False,
        name: str = "",
    ) -> list[Happening]:
        """A tool's result; of a call that was never announced, the call comes first."""
        if not self.running or call_id in self._abandoned or self._calls.get(call_id) is False:
            late = ToolResult(self.session_id, call_id, result, is_error or denied, denied)
            return self.result_late(late, name)
        announced = self.call(call_id, name) if call_id not in self._calls else []
        self.failed = False
        self._calls[call_id] = False
        withdrawn = self._withdraw(call_id)
        # An agent that was denied and reports a success has done it nevertheless.
        is_denied = denied or (is_error and call_id in self._denied)
        return [
            *announced,
            *withdrawn,
            ToolResult(self.session_id, call_id, result, is_error or is_denied, is_denied),
        ]

    def error(
        self, message: str, code: str = "agent_error", *, retryable: bool = False, data: Any = None
    ) -> list[Happening]:
        self.failed = True
        words = explained(message, data) or "The agent failed without a message."
        return [AgentError(classified(Failure(words, code, retryable, data)), self.session_id)]

    def notice(self, code: str, message: str, data: Any = None) -> list[Happening]:
        return [Notice(code, message, self.session_id, data)]

    def end(self, reason: str, stop: str | None = None, usage: Usage | None = None) -> list[Happening]:
        """The turn is over: what is still open is closed, then its TurnEnd. Without a turn: nothing."""
        if not self.running:
            return []
        closed: list[Happening] = [CallWithdrawn(question) for question in self._questions]
        self._questions.clear()
        for call_id, is_open in self._calls.items():
            if is_open:
                is_denied = call_id in self._denied
                text = "denied" if is_denied else "The turn ended before this tool gave a result."
                closed.append(ToolResult(self.session_id, call_id, text, is_error=True, denied=is_denied))
                self._abandoned.append(call_id)
        self._calls.clear()
        self._reported.clear()
        self._denied.clear()
        self.running = self.cancelling = self.failed = False
        return [*closed, TurnEnd(self.session_id, reason, stop if stop != reason else None, usage)]

    def eof(self, exit_status: int | None, why: str = "") -> list[Happening]:
        """The agent is gone: a turn that runs was cancelled, if that was asked, or failed."""
        if not self.running:
            return []
        if self.cancelling:
            return self.end(CANCELLED)
        status = "" if exit_status is None else f" with status {exit_status}"
        text = why or f"The agent ended{status} in the middle of a turn."
        return [*self.error(text, "agent_exited", data={"exitStatus": exit_status}), *self.end(ERROR)]

    # --- questions

    def ask(
        self,
        context: Any,
        *,
        options: Sequence[Choice] = (),
        text: str = "",
        name: str = "",
        arguments: Any = None,
        kind: str = "other",
        call_id: str | None = None,
        schema: Any = None,
        url: str | None = None,
    ) -> list[Happening]:
        """A question; `context` is what the arm needs to answer it, and comes back from `take`."""
        self._asked += 1
        question = f"q{self._asked}"
        self._questions[question] = (call_id, context)
        self.failed = False
        known_kind = kind if kind in TOOL_KINDS else "other"
        return [
            AgentPrompt(
                self.session_id,
                question,
                tuple(options),
                text,
                name,
                arguments,
                known_kind,
                call_id,
                schema,
                url,
            )
        ]

    def take(self, question: str, *, denied: bool) -> Any:
        """The context of a question that is now answered; None when it is not open (any more)."""
        call_id, context = self._questions.pop(question, (None, None))
        if denied and call_id is not None:
            self._denied.add(call_id)
        return context

    def open_questions(self) -> list[str]:
        return list(self._questions)

    def question_about(self, is_it: Callable[[Any], bool]) -> str | None:
        """The open question whose context is the one."""
        return next((question for question, (_, context) in self._questions.items() if is_it(context)), None)

    def withdraw(self, question: str | None) -> list[Happening]:
        """The agent no longer waits for this one."""
        if question is None or self._questions.pop(question, None) is None:
            return []
        return [CallWithdrawn(question)]

    def _withdraw(self, call_id: str) -> list[Happening]:
        stale = [question for question, (about, _) in self._questions.items() if about == call_id]
        return [happening for question in stale for happening in self.withdraw(question)]

    def _outside(self, what: str, quoted: str, code: str = "outside_turn") -> list[Happening]:
        return self.notice(code, f"{what} at an unexpected moment: {quoted[:_QUOTED]}")
