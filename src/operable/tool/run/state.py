"""What the parts of one run share: the call, the sink, the counters, and what the summary will say.

`runner.CommandRun` adds how a run goes; everything that it calls (results, mutations, input, the author's context) gets
this.
"""

from __future__ import annotations

import os
from time import monotonic

from operable.tool.json_text import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from operable.kernel.errors import Fail
    from operable.tool.declare.declaration import Declaration
    from operable.tool.emit.sinks import Sink
    from operable.tool.parse.arguments import ParsedCall
    from operable.tool.run.interrupt import Interrupts


class RunState:
    """One invocation: its circumstances and its counters."""

    def __init__(self, tool: Declaration, call: ParsedCall, sink: Sink, interrupts: Interrupts) -> None:
        self.tool = tool
        self.call = call
        self.command = call.command
        self.machine = sink.emitter is not None
        self.schema_version = tool.schema_version
        self.trace_id = os.urandom(16).hex()  # the form of a W3C trace id
        self.sink = sink
        self.interrupts = interrupts
        self.started = monotonic()
        self.head: dict[str, Any] = {}  # the meta event
        self.count = 0
        self.checked = 0
        self.warnings = 0
        self.errors = 0
        self.partial = False
        self.truncated = False
        self.next_cursor: str | None = None
        self.exit_code: int | None = None  # once the command has decided it
        self.remarks: dict[str, Any] = {}  # further fields of the summary
        self.convert: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None

    def timeout(self) -> float | None:
        """Seconds for the whole run; None: as long as it takes."""
        seconds: float | None = self.call.options.get("timeout", self.command.timeout)
        return seconds

    def limit(self) -> int | None:
        """How many results may be shown; None: all."""
        limit = self.call.options.get("limit", self.command.limit)
        lines = self.call.options.get("max-lines")
        return lines if limit is None else limit if lines is None else min(limit, lines)

    def amend_meta(self, fields: dict[str, Any]) -> None:
        """Of a relay: add to the meta event. It goes out with the first line of the stream."""
        self.head.update(fields)
        if self.sink.emitter is not None:
            self.sink.emitter.head(json_text(self.head))

    def iterate(self, produced: Any) -> Iterable[Any]:
        """Whatever the author's function returned, as an iterable of values."""
        if produced is None:
            return ()
        if hasattr(produced, "__anext__") or hasattr(produced, "__await__"):
            from operable.tool.run.coroutines import drain

            return drain(produced)
        if isinstance(produced, dict) or not hasattr(produced, "__iter__"):
            return (produced,)
        return produced  # type: ignore[no-any-return]

    def notice(self, fields: dict[str, Any]) -> None:
        """A framework event of the author's."""
        if fields["type"] == "aoi:warning":
            self.warnings += 1
        elif fields["type"] == "aoi:check":
            self.checked += 1
            if not fields["ok"] and fields["severity"] == "error":
                self.errors += 1
        self.sink.notice(fields)

    def item_error(self, fail: Fail) -> None:
        """One item failed and the others go on: the result is then partial and not ok."""
        self.errors += 1
        self.partial = True
        self.sink.error(fail)
