"""Runs one command from its meta event to its summary, the same way for people and machines.

Theory of operation: `Run.execute` is the only place where a stream begins and ends. Whatever happens in between,
results, a `Fail`, a bug, a signal, a deadline, comes back to it and becomes one summary and one exit code. Where the
events go is the sink's business (`machine` or `people`); what a mutation may do is `mutation`'s; both get here only
when needed.
"""

from __future__ import annotations

import os
from time import monotonic

from operable.kernel.errors import EX_DATAERR, EX_OK, EX_SIGINT, Fail
from operable.tool.declare import AOI_VERSION
from operable.tool.emit import BLOCK, OutputLost
from operable.tool.interrupt import GRACE, INTERRUPTED, OUTPUT_LOST, TIMEOUT, Interrupted, Interrupts
from operable.tool.json_text import json_text
from operable.tool.records import MANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from operable.tool.arguments import Call
    from operable.tool.context import Context
    from operable.tool.declare import Tool
    from operable.tool.emit import Emitter
    from operable.tool.interrupt import Stop
    from operable.tool.rows import Bulk
    from operable.tool.sinks import Sink


class Run:
    """One invocation: its counters, and what the summary will say."""

    def __init__(
        self,
        tool: Tool,
        call: Call,
        sink: Sink,
        interrupts: Interrupts,
        *,
        refusal: Fail | None = None,
    ) -> None:
        self.tool = tool
        self.call = call
        self.command = call.command
        self.machine = sink.emitter is not None
        self.schema_version = tool.schema_version
        self.trace_id = os.urandom(16).hex()  # the form of a W3C trace id
        self.sink = sink
        self.interrupts = interrupts
        self._refusal = refusal
        self.started = monotonic()
        self.count = 0
        self.checked = 0
        self.warnings = 0
        self.errors = 0
        self.partial = False
        self.truncated = False
        self.next_cursor: str | None = None
        self.exit_code: int | None = None  # once the command has decided it
        self.remarks: dict[str, Any] = {}  # further fields of the summary
        self._meta: dict[str, Any] = {}
        self.convert: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
        self._rows = 0
        self.bulk: Bulk | None = None
        self._encoders: dict[type, Callable[[Any], Any]] = {}

    # -- from meta to summary ------------------------------------------------------------------------------------------

    def execute(self) -> int:
        """Run the command; the exit code of the process."""
        self._supervise()
        try:
            try:
                self._begin()
                self.interrupts.begin()
                self._perform()
                exit_code = EX_DATAERR if self.errors else EX_OK
                if self.exit_code is not None:
                    exit_code = self.exit_code
            except (OutputLost, Interrupted):
                raise
            except BaseException as problem:  # whatever it is, it ends as a structured error
                if self.interrupts.raised:
                    # The author's code has made something else of a stop, or failed to clean up after it.
                    raise Interrupted from problem
                exit_code = self._failed(problem)
            finally:
                self.interrupts.settle()
            self._close(exit_code)
        except OutputLost as lost:
            return self._output_lost(lost)
        except Interrupted:
            return self._stopped()
        return exit_code

    def _supervise(self) -> None:
        """Start the thread that holds the deadline and keeps the stream alive; documents are too short to need it."""
        if self.command.document or self._refusal is not None:
            return
        from operable.tool.supervise import Supervisor

        timeout, grace = self.timeout(), self.command.grace
        if timeout is not None and grace is not None:
            timeout += grace  # it holds the deadline itself; ours is for a reader that keeps it from going on
        heartbeat = self.command.heartbeat if self.command.unbounded else None
        Supervisor(
            self.sink.emitter,
            self.interrupts,
            timeout=timeout,
            heartbeat=heartbeat,
            last_words=self._last_words,
            grace=GRACE if grace is None else grace,
        ).start()

    def timeout(self) -> float | None:
        """Seconds for the whole run; None: as long as it takes."""
        seconds: float | None = self.call.options.get("timeout", self.command.timeout)
        return seconds

    def _begin(self) -> None:
        try:
            if self._refusal is None:
                self.schema_version, self.convert = self._negotiate()
        except Fail as refusal:
            self._refusal = refusal
        meta: dict[str, Any] = {
            "type": "aoi:meta",
            "tool": self.tool.name,
            "tool_version": self.tool.version,
            "aoi_version": AOI_VERSION,
            "schema_name": self.tool.schema_name,
            "schema_version": self.schema_version,
            "command": self.command.name,
            "trace_id": self.trace_id,
        }
        if not self.command.name:
            del meta["command"]
        if self.command.unbounded:
            meta["unbounded"] = True
            meta["heartbeat_interval"] = self.command.heartbeat
        options = self.call.options
        if "input-jsonl" in options or "input-json" in options:
            meta["input_mode"] = "jsonl" if "input-jsonl" in options else "json"
            meta["continue_on_error"] = "continue-on-error" in options
        if "dry-run" in options:
            meta["dry_run"] = True
        self._meta = meta
        if self._refusal is not None or not self.command.relays:
            self.sink.meta(meta)
        else:
            self.amend_meta({})
        if self._refusal is not None:
            raise self._refusal

    def amend_meta(self, fields: dict[str, Any]) -> None:
        """Of a relay: add to the meta event. It goes out with the first line of the stream."""
        self._meta.update(fields)
        if self.sink.emitter is not None:
            self.sink.emitter.head(json_text(self._meta))

    def _negotiate(self) -> tuple[str, Callable[[dict[str, Any]], dict[str, Any] | None] | None]:
        options = self.call.options
        if "schema-version" not in options and "accept-schema" not in options:
            return self.tool.schema_version, None
        from operable.tool.versions import negotiate

        return negotiate(self.tool, options)

    def _perform(self) -> None:
        arguments, keywords = self._arguments()
        if self.command.mutates:
            from operable.tool.mutation import mutate

            mutate(self, arguments, keywords)
        else:
            self.stream(self.iterate(self.command.function(*arguments, **keywords)))
        for value in keywords.values():
            finish = getattr(value, "finish", None)
            if finish is not None:
                finish()

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        values = self.call.values
        spread = any(param.spread for param in self.command.params)
        for param in self.command.params:
            if param.spread:
                arguments.extend(values[param.name])
            elif param.operand and spread:  # only by its place can an operand come before *others
                arguments.append(values[param.name])
            else:
                keywords[param.name] = values[param.name]
        for name, what in self.command.injected.items():
            keywords[name] = self._inject(what)
        return arguments, keywords

    def _inject(self, what: Any) -> Any:
        if what == "Context":
            return self.context()
        if what == "Page":
            return self._page()
        if what == "Relay":
            from operable.tool.relay import Relay

            return Relay(self)
        from operable.tool.intake import Intake

        return Intake(self, what.model)

    def context(self) -> Context:
        """What the author's code may know of this run."""
        from operable.tool.context import Context

        return Context(self)

    def _page(self) -> Any:
        from operable.tool.declare import Page

        limit, cursor = self.limit(), self.call.options.get("cursor")
        page = Page(fetch=None if limit is None else limit + 1)
        if cursor is not None:
            from operable.tool.cursor import read_cursor

            page.after = read_cursor(cursor, self.command, self.call.values)
        return page

    def limit(self) -> int | None:
        """How many results may be shown; None: all."""
        limit = self.call.options.get("limit", self.command.limit)
        lines = self.call.options.get("max-lines")
        return lines if limit is None else limit if lines is None else min(limit, lines)

    def iterate(self, produced: Any) -> Iterable[Any]:
        """Whatever the author's function returned, as an iterable of values."""
        if produced is None:
            return ()
        if hasattr(produced, "__anext__") or hasattr(produced, "__await__"):
            from operable.tool.asynchronous import drain

            return drain(produced)
        if isinstance(produced, dict) or not hasattr(produced, "__iter__"):
            return (produced,)
        return produced  # type: ignore[no-any-return]

    # -- the events ----------------------------------------------------------------------------------------------------

    def stream(self, items: Iterable[Any]) -> None:
        """Pass the author's values on until they end or a bound is reached."""
        emitter = self.sink.emitter
        simple = "max-bytes" not in self.call.options and not self.command.unbounded
        try:
            last = self._pour(items, emitter) if emitter and simple else self._measure(items)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
        if self.truncated and self.command.cursor:
            self._write_cursor(last)

    def _pour(self, items: Iterable[Any], emitter: Emitter) -> Any:
        """The hot loop of a producing tool: `emitter.line` is written out in it, because calls are what costs here."""
        encoders, limit, count, lines, size, last = (
            self._encoders,
            self.limit(),
            self.count,
            emitter.lines,
            0,
            None,
        )
        items = iter(items)
        try:
            for item in items:
                encode = encoders.get(item.__class__) or self._encoder(item)
                if encode is None:
                    continue
                line = encode(item)
                if line is None:  # an older schema does not know it: it was not left out
                    continue
                if count == limit:
                    self.truncated = True
                    break
                lines.append(line)
                count += 1
                last = item
                size += len(line)
                if size >= BLOCK:
                    emitter.flush()
                    size = 0
                    if self.bulk is not None:
                        break
                elif len(lines) == 1:
                    size = len(line)
                    emitter.begun()
        finally:
            self.count = count
        return (
            last if self.bulk is None or self.truncated else self._pour_rows(items, emitter, self.bulk, last)
        )

    def _pour_rows(self, items: Iterable[Any], emitter: Emitter, bulk: Bulk, last: Any) -> Any:
        """The same for the rest of a long stream of dictionaries of declared types (see `rows`)."""
        encode, exact, limit, count, lines, size = (
            bulk.encode,
            bulk.exact,
            self.limit(),
            self.count,
            emitter.lines,
            0,
        )
        emitter.hurried = True
        try:
            for item in items:
                try:
                    line = encode(item) if item["type"] in exact and count != limit else None
                except bulk.doubts:
                    line = None
                if line is None:
                    cautious = self._encoders.get(item.__class__) or self._encoder(item)
                    if cautious is None:
                        continue
                    line = cautious(item)
                    if line is None:
                        continue
                    if count == limit:
                        self.truncated = True
                        break
                lines.append(line)
                count += 1
                last = item
                size += len(line)
                if size >= BLOCK:
                    emitter.flush()
                    size = 0
        finally:
            self.count = count
        return last

    def _measure(self, items: Iterable[Any]) -> Any:
        """The same with every bound, for any sink."""
        limit, max_bytes = self.limit(), self.call.options.get("max-bytes")
        size, last = 0, None
        for item in items:
            encode = self._encoders.get(item.__class__) or self._encoder(item)
            encoded = None if encode is None else encode(item)
            if encoded is None:
                continue
            if max_bytes is not None:
                size += self.sink.size(encoded)
            if self.count == limit or (max_bytes is not None and size > max_bytes):
                self.truncated = True
                if last is None and self.count != limit:
                    self._too_large(size)
                break
            self.sink.put(encoded)
            self.count += 1
            last = item
            if self.command.unbounded and self.count == limit:  # waiting for one more might take for ever
                self.truncated = True
                break
        return last

    def _too_large(self, size: int) -> None:
        """Nothing at all fits: whoever follows the cursor would turn in circles."""
        message = f"The first result alone has {size} bytes"
        self.notice(
            {
                "type": "aoi:warning",
                "code": "RESULT_TOO_LARGE",
                "message": message,
                "hint": "raise --max-bytes",
            }
        )

    def _encoder(self, item: Any) -> Callable[[Any], Any] | None:
        """How values of this class go out; None when this one is no domain event and has been dealt with."""
        kind = item.__class__
        convert = self.convert
        if getattr(kind, "_typed", False):
            encode = (
                self.sink.encoder(kind) if convert is None else lambda event: self._converted(event.to_dict())
            )
        elif kind is dict:
            encode = self._row
        else:
            self._aside(item)
            return None
        # A record class gets a better encoder when it has many instances; until then, ask again.
        if kind is dict or kind._made > MANY:  # noqa: SLF001 - see `records`
            self._encoders[kind] = encode
        return encode

    def _aside(self, item: Any) -> None:
        """What an author may yield besides results."""
        from operable.tool.framework import ItemError, Notice

        if isinstance(item, Notice):
            self.notice(item.fields)
        elif isinstance(item, ItemError):
            self.item_error(item.fail)
        else:
            what = type(item).__name__
            msg = f"{self.command.name} yielded {what}; yield an Event, a dict, a Warn, a Progress or an ItemError"
            raise TypeError(msg)

    def _row(self, event: dict[str, Any]) -> Any:
        """A plain dictionary. When there turn out to be many, a faster encoder takes over for good."""
        self._rows += 1
        if self._rows == MANY and self.machine and self.convert is None and not self.sink.secrets:
            from operable.tool.rows import faster

            self._encoders[dict] = faster(self)
        return self._converted(event)

    def _converted(self, event: dict[str, Any]) -> Any:
        converted = event if self.convert is None else self.convert(event)
        if converted is None:
            return None
        check_type(converted)
        return self.sink.encode(converted)

    def repeat(self, event: dict[str, Any]) -> None:
        """A domain event that an earlier run has recorded."""
        encoded = self._converted(event)
        if encoded is not None:
            self.sink.put(encoded)

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

    def _write_cursor(self, last: Any) -> None:
        from operable.tool.cursor import write_cursor

        if last is None:  # nothing was shown: the next page starts where this one did
            self.next_cursor = self.call.options.get("cursor")
            return
        fields = [
            last[name] if isinstance(last, dict) else getattr(last, name) for name in self.command.cursor
        ]
        position = fields[0] if len(fields) == 1 else fields
        self.next_cursor = write_cursor(position, self.command, self.call.values)

    # -- how it ended --------------------------------------------------------------------------------------------------

    def _stopped(self) -> int:
        """A signal, a deadline or a lost output ended the command: say so, if anybody can still hear it."""
        stop = self.interrupts.stop
        exit_code = EX_SIGINT if stop is None else stop.exit_code
        reason = INTERRUPTED if stop is None else stop.reason
        try:
            if reason == OUTPUT_LOST:
                self.sink.close()
            self.remarks["reason"] = reason
            self.partial = True
            if reason == TIMEOUT:
                self._report(self._timed_out())
            self._close(exit_code)
        except OutputLost as lost:
            return self._output_lost(lost)
        return exit_code

    def _timed_out(self) -> Fail:
        message = f"{self.command.name} did not end within {self.timeout():g} s"
        return Fail("timeout", "TIMEOUT", message, hint="raise --timeout")

    def _last_words(self, stop: Stop, results: int) -> list[str]:
        """The end of the stream, said by the supervisor in place of a main thread that does not come back."""
        self.partial, self.remarks["reason"] = True, stop.reason
        lines = []
        if stop.reason == TIMEOUT:
            self.errors += 1
            lines.append(json_text(self._timed_out().event()))
        self.count = max(self.count, results)
        return [*lines, json_text(self._summary(stop.exit_code))]

    def _close(self, exit_code: int) -> None:
        """Say the last word."""
        # A stop may have come between showing a result and counting it here.
        self.count = max(self.count, self.sink.results())
        self.sink.summary(self._summary(exit_code))
        self.interrupts.exit_code = exit_code

    def _output_lost(self, lost: OutputLost) -> int:
        if not lost.quiet:
            self.sink.complain(f"{self.tool.name}: cannot write the output: {lost}")
        return lost.exit_code

    def _failed(self, problem: BaseException) -> int:
        from operable.tool.failure import as_fail, show_traceback

        fail = as_fail(problem, command=self.command.name)
        self.partial = self.partial or self.count > 0
        self._report(fail)
        if "debug" in self.call.options:
            show_traceback(problem, self.sink.secrets)
        return fail.exit_code

    def _report(self, fail: Fail) -> None:
        self.errors += 1
        self.sink.error(fail)

    def _summary(self, exit_code: int) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "type": "aoi:summary",
            "ok": exit_code == EX_OK,
            "count": self.count + self.checked,
            "warning_count": self.warnings,
            "error_count": self.errors,
            "partial": self.partial,
            "truncated": self.truncated,
            "next_cursor": self.next_cursor,
            "elapsed_ms": round((monotonic() - self.started) * 1000),
        }
        summary.update(self.remarks)
        return summary


def check_type(event: dict[str, Any]) -> None:
    """Refuse a dictionary that is no domain event."""
    kind = event.get("type")
    if not isinstance(kind, str) or not kind or kind.startswith("aoi:"):
        msg = f"a domain event needs a `type` that is a name without the aoi: prefix, not {kind!r}"
        raise TypeError(msg)


def open_stream(call: Call, secrets: tuple[str, ...]) -> tuple[Sink, Interrupts]:
    """Machine mode: stdout becomes private, nobody can prompt. Raises OSError when stdout is closed."""
    interrupts = Interrupts()
    interrupts.install()
    from operable.tool.descriptors import STDIN_NAMES, let_go_of_terminal, take_stdin, take_stdout
    from operable.tool.emit import Emitter
    from operable.tool.sinks import MachineSink

    sink = MachineSink(Emitter(take_stdout(), interrupts), secrets)
    words = [
        word for value in call.values.values() for word in (value if isinstance(value, list) else [value])
    ]
    if not any(name in words for name in STDIN_NAMES):  # else the author's code reads stdin itself
        take_stdin()
    let_go_of_terminal()
    return sink, interrupts


def open_terminal(tool: Tool, call: Call, secrets: tuple[str, ...]) -> tuple[Sink, Interrupts]:
    """Human mode."""
    interrupts = Interrupts()
    interrupts.install()
    from operable.tool.people import PeopleSink

    return PeopleSink(tool, call, secrets), interrupts
