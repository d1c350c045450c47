"""What a trace knows of one attempt: the variables that let its programs join, and the turns that its agent took.

The ids of a trace and of its spans follow from the run, so nothing has to be asked or kept. Turns and tool calls are taken
from the events of the agent as they come: names, kinds and times, never arguments or results. Without a collector they are
not looked at afterwards, and a turn costs a few numbers.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from operable.engine.lifecycle.identifiers import span_id_of, trace_id_of
from operable.wire.events import ToolCall, ToolResult, TurnEnd, Usage

_MOST_CALLS = 1000  # tool calls of one turn that become spans; the turn says how many there were
_NAME = 100  # characters of a tool's name


@dataclass(slots=True)
class TracedCall:
    """One use of a tool. Times are nanoseconds; `failed` is why it did not succeed."""

    name: str
    kind: str
    call_id: str
    began: int
    ended: int | None = None
    failed: str | None = None


@dataclass(slots=True)
class TracedTurn:
    agent: str
    began: int
    ended: int | None = None
    reason: str | None = None
    usage: Usage | None = None
    calls: dict[str, TracedCall] = field(default_factory=dict)
    count: int = 0  # of tool calls, also of those that are not in `calls`


class AttemptTrace:
    """Used by one thread: the one that executes the attempt."""

    def __init__(
        self, run_id: str, number: int, *, sampled: bool, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.run_id, self.number = run_id, number
        self.turns: list[TracedTurn] = []
        self._sampled, self._clock = sampled, clock

    @property
    def key(self) -> str:
        """The name that the id of the attempt's span follows from."""
        return f"{self.run_id}#{self.number}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of W3C Trace Context. A span that a task makes of them is a child of the attempt's span."""
        flags = "01" if self._sampled else "00"
        return {
            "TRACEPARENT": f"00-{trace_id_of(self.run_id)}-{span_id_of(self.key)}-{flags}",
            "TRACESTATE": f"operable={self.key}",
        }

    def begin_turn(self, agent: str) -> Callable[[Any], None]:
        """What gets each event of the turn that begins now."""
        turn = TracedTurn(agent, self._clock())
        self.turns.append(turn)
        return lambda event: self._hear(turn, event)

    def _hear(self, turn: TracedTurn, event: Any) -> None:
        match event:
            case ToolCall(tool_call_id=call_id):
                turn.count += 1
                if len(turn.calls) < _MOST_CALLS:
                    # A title that an agent shows in place of a name may have arguments in it.
                    name = event.kind if event.unnamed else event.tool_name[:_NAME]
                    turn.calls[call_id] = TracedCall(name, event.kind, call_id, self._clock())
            case ToolResult(tool_call_id=call_id) if call_id in turn.calls:
                call = turn.calls[call_id]
                call.ended = self._clock()
                call.failed = "denied" if event.denied else "failed" if event.is_error else None
            case TurnEnd():
                turn.ended, turn.reason, turn.usage = self._clock(), event.reason, event.usage
