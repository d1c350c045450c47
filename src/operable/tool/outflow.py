"""The state of one run, and the way of its results from the author's code to the sink: bounds, encoders, loops.

`RunState` is what the parts of a run share: the call, the sink, the counters, and what the summary will say;
`runner.CommandRun` adds how a run goes.

Theory of operation: an encoder is found once for each class of value and kept. Two loops are written for speed, because
a producing tool spends its time there: `_pour` for results one by one, `_pour_batches` for lists of them. A third,
`_measure`, knows every bound and every sink. All of them stop at the limit only when there is one result more, so that
`truncated` is true exactly then.
"""

import os
from time import monotonic

from operable.tool.records import MANY, check_type, json_text
from operable.tool.writer import BLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from operable.kernel.errors import Fail
    from operable.tool.arguments import ParsedCall
    from operable.tool.declaration import Declaration
    from operable.tool.interrupt import Interrupts
    from operable.tool.run.reduction import Reduction
    from operable.tool.writer import Emitter, Sink


class RunState:
    """One invocation: its circumstances and its counters."""

    def __init__(
        self, tool: "Declaration", call: "ParsedCall", sink: "Sink", interrupts: "Interrupts"
    ) -> None:
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
        self.held = "OPERABLE_DEVELOP" in os.environ  # every event is compared with what the command promises
        self.shared: Any = None  # the options that every command of the tool has
        self.convert: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
        self.reduction: Reduction | None = None  # what the caller wants of each result

    def timeout(self) -> "float | None":
        """Seconds for the whole run; None: as long as it takes."""
        seconds: float | None = self.call.options.get("timeout", self.command.timeout)
        return seconds

    def limit(self) -> "int | None":
        """How many results may be shown; None: all."""
        limit = self.call.options.get("limit", self.command.limit)
        lines = self.call.options.get("max-lines")
        return lines if limit is None else limit if lines is None else min(limit, lines)

    def amend_meta(self, fields: "dict[str, Any]") -> None:
        """Of a relay: add to the meta event. It goes out with the first line of the stream."""
        self.head.update(fields)
        if self.sink.emitter is not None:
            self.sink.emitter.head(json_text(self.head))

    def iterate(self, produced: "Any") -> "Iterable[Any]":
        """Whatever the author's function returned, as an iterable of values."""
        if produced is None:
            return ()
        if hasattr(produced, "__anext__") or hasattr(produced, "__await__"):
            from operable.tool.run.coroutines import drain

            return drain(produced)
        if isinstance(produced, dict) or not hasattr(produced, "__iter__"):
            return (produced,)
        return produced  # type: ignore[no-any-return]

    def notice(self, fields: "dict[str, Any]") -> None:
        """A framework event of the author's."""
        if fields["type"] == "aoi:warning":
            self.warnings += 1
        elif fields["type"] == "aoi:check":
            self.checked += 1
            if not fields["ok"] and fields["severity"] == "error":
                self.errors += 1
        self.sink.notice(fields)

    def item_error(self, fail: "Fail") -> None:
        """One item failed and the others go on: the result is then partial and not ok."""
        self.errors += 1
        self.partial = True
        self.sink.error(fail)


_END = object()


class _Batch(Exception):  # noqa: N818 - not an error: the author yields lists of results
    """The first list of a stream; from here on another loop takes over."""

    def __init__(self, rows: "list[Any]") -> None:
        super().__init__()
        self.rows = rows


class Outflow:
    """The results of one run."""

    def __init__(self, run: "RunState") -> None:
        self._run = run
        self._rows = 0
        self._encoders: dict[type, Callable[[Any], Any]] = {}

    def stream(self, items: "Iterable[Any]") -> None:
        """Pass the author's values on until they end or a bound is reached."""
        emitter = self._run.sink.emitter
        run = self._run
        plain = run.convert is None and not run.sink.secrets and not run.held
        simple = plain and "max-bytes" not in run.call.options and not run.command.unbounded
        flow = iter(items)
        try:
            last = self._pour(flow, emitter) if emitter and simple else self._measure(flow)
        except _Batch as first:
            last = self._pour_batches(first.rows, flow, emitter) if emitter else None
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
        if self._run.truncated and self._run.command.cursor:
            self._write_cursor(last)

    def _pour(self, items: "Iterator[Any]", emitter: "Emitter") -> "Any":
        """The hot loop of a producing tool: `emitter.line` is written out in it, because calls are what costs here."""
        encoders, lines, limit, count = self._encoders, emitter.lines, self._run.limit(), self._run.count
        size, last = 0, None
        try:
            for item in items:
                encode = encoders.get(item.__class__) or self._encoder(item)
                if encode is None:
                    continue
                line = encode(item)
                if line is None:  # an older schema does not know it: it was not left out
                    continue
                if count == limit:
                    self._run.truncated = True
                    break
                lines.append(line)
                count += 1
                last = item
                size += len(line)
                if size >= BLOCK:
                    emitter.flush()
                    size = 0
                elif len(lines) == 1:
                    size = len(line)
                    emitter.begun()
        finally:
            self._run.count = count
        return last

    def _pour_batches(self, rows: "Any", items: "Iterator[Any]", emitter: "Emitter") -> "Any":
        """The same for lists of results, each of which is encoded and written as a whole (see `rows`).

        A list is let go before the next is asked for: the next is made in the same memory, which the caches still have.
        """
        from operable.tool.rows import batch_encoder

        encode = batch_encoder(self._run.command.event_classes(), self._plain_line)
        limit, last = self._run.limit(), None
        while True:
            room = None if limit is None else limit - self._run.count
            if room is not None and len(rows) > room:
                self._run.truncated = True
                rows = rows[:room]
            if rows:
                data, results = encode(rows)
                if results:
                    emitter.batch(data, results)
                    self._run.count += results
                last = rows[-1]
            if self._run.truncated:
                return last
            del rows
            rows = next(items, _END)
            if rows is _END:
                return last
            if rows.__class__ is not list:
                rows = self._as_batch(rows)

    def _as_batch(self, item: "Any") -> "list[Any]":
        """A single result among lists of them; nothing for a notice, which is dealt with by looking at it."""
        return [] if self._plain_line(item) is None else [item]

    def _measure(self, items: "Iterator[Any]") -> "Any":
        """The same with every bound, for any sink."""
        limit, max_bytes = self._run.limit(), self._run.call.options.get("max-bytes")
        size, last = 0, None
        for item in self._single(items):
            encoded = self._plain_line(item)
            if encoded is None:
                continue
            if max_bytes is not None:
                size += self._run.sink.size(encoded)
            if self._run.count == limit or (max_bytes is not None and size > max_bytes):
                self._run.truncated = True
                if last is None and self._run.count != limit:
                    self._too_large(size)
                break
            self._run.sink.put(encoded)
            self._run.count += 1
            last = item
            if (
                self._run.command.unbounded and self._run.count == limit
            ):  # waiting for one more might take forever
                self._run.truncated = True
                break
        return last

    def _single(self, items: "Iterator[Any]") -> "Iterator[Any]":
        for item in items:
            if item.__class__ is list:
                yield from item
            else:
                yield item

    def _plain_line(self, item: "Any") -> "Any":
        """One value as the sink takes it; None when it has no place there or has been dealt with."""
        encode = self._encoders.get(item.__class__) or self._encoder(item)
        return None if encode is None else encode(item)

    def _too_large(self, size: int) -> None:
        """Nothing at all fits: a caller that follows the cursor would turn in circles."""
        message = f"The first result alone has {size} bytes"
        self._run.notice(
            {
                "type": "aoi:warning",
                "code": "RESULT_TOO_LARGE",
                "message": message,
                "hint": "raise --max-bytes",
            }
        )

    def _encoder(self, item: "Any") -> "Callable[[Any], Any] | None":
        """How values of this class go out; None if this one is not a domain event and has been handled."""
        kind = item.__class__
        convert = self._run.convert
        if getattr(kind, "_typed", False):
            encode = (
                self._run.sink.encoder(kind)
                if convert is None
                else lambda event: self._converted(event.to_dict())
            )
        elif kind is dict:
            encode = self._row
        elif kind is list:
            raise _Batch(item)
        else:
            self._aside(item)
            return None
        if self._run.held:
            from operable.tool.values.builder import held

            encode = held(self._run.command, encode)
        # A record class gets a better encoder when it has many instances; until then, ask again.
        if kind is dict or kind._made > MANY:  # noqa: SLF001 - see `records`
            self._encoders[kind] = encode
        return encode

    def _aside(self, item: "Any") -> None:
        """What an author may yield besides results."""
        from operable.tool.framework import FrameworkNotice, ItemError

        if isinstance(item, FrameworkNotice):
            self._run.notice(item.fields)
        elif isinstance(item, ItemError):
            self._run.item_error(item.fail)
        else:
            what = type(item).__name__
            msg = f"{self._run.command.name} yielded {what}; yield an Event, a dict, a Warn, a Progress or an ItemError"
            raise TypeError(msg)

    def _row(self, event: "dict[str, Any]") -> "Any":
        """A plain dictionary. When there turn out to be many, a faster encoder takes over permanently."""
        self._rows += 1
        if (
            self._rows == MANY
            and self._run.machine
            and not self._run.held
            and self._run.convert is None
            and not self._run.sink.secrets
        ):
            from operable.tool.rows import faster

            self._encoders[dict] = faster(self._encoders, self._run.command.event_classes)
        return self._converted(event)

    def _converted(self, event: "dict[str, Any]") -> "Any":
        converted = event if self._run.convert is None else self._run.convert(event)
        if converted is None:
            return None
        check_type(converted)
        return self._run.sink.encode(converted)

    def repeat(self, event: "dict[str, Any]") -> None:
        """A domain event that an earlier run has recorded."""
        encoded = self._converted(event)
        if encoded is not None:
            self._run.sink.put(encoded)

    def _write_cursor(self, last: "Any") -> None:
        from operable.tool.run.cursor import write_cursor

        if last is None:  # nothing was shown: the next page starts where this one did
            self._run.next_cursor = self._run.call.options.get("cursor")
            return
        fields = [
            last.get(name) if isinstance(last, dict) else getattr(last, name)
            for name in self._run.command.cursor
        ]
        position = fields[0] if len(fields) == 1 else fields
        if self._run.call.options.get("cursor"):
            from operable.tool.run.cursor import refuse_standstill

            refuse_standstill(position, self._run.command, self._run.call)
        self._run.next_cursor = write_cursor(position, self._run.command, self._run.call.values)
