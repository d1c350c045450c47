"""Runs one command from its meta event to its summary, the same way for people and machines.

Theory of operation: `CommandRun.execute` is the only place where a stream begins and ends. Whatever happens in between,
results, a `Fail`, a bug, a signal, a deadline, comes back to it and becomes one summary and one exit code. Where the
events go is the sink's business (`writer` or `human`); what a mutation may do is `mutation`'s; both get here only
when needed.
"""

from time import monotonic

from operable.kernel.errors import EX_DATAERR, EX_OK, EX_SIGINT, Fail
from operable.tool.declaration import AOI_VERSION
from operable.tool.interrupt import GRACE, INTERRUPTED, OUTPUT_LOST, TIMEOUT, Interrupted, Interrupts
from operable.tool.outflow import Outflow, RunState
from operable.tool.records import json_text
from operable.tool.signature import SHARED, is_group
from operable.tool.writer import OutputLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from operable.tool.arguments import ParsedCall
    from operable.tool.declaration import Declaration
    from operable.tool.interrupt import StopReason
    from operable.tool.writer import Sink


class CommandRun(RunState):
    """One invocation, from its meta event to its summary."""

    def __init__(
        self,
        tool: "Declaration",
        call: "ParsedCall",
        sink: "Sink",
        interrupts: "Interrupts",
        *,
        refusal: "Fail | None" = None,
    ) -> None:
        super().__init__(tool, call, sink, interrupts)
        self._refusal = refusal
        self._late = False  # the deadline is an error that two threads may find, and that counts once
        self._timeout_told = False
        self.outflow = Outflow(self)

    # -- from meta to summary ------------------------------------------------------------------------------------------

    def execute(self) -> int:
        """Run the command; the exit code of the process."""
        self._supervise()
        try:
            try:
                self._begin()
                self.interrupts.begin()
                self._perform()
                self.interrupts.catch_up()
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
        """Start the thread that enforces the deadline and keeps the stream alive; documents are too short to need it."""
        if self.command.document or self._refusal is not None:
            return
        from operable.tool.supervision import Supervisor

        timeout, grace = self.timeout(), self.command.grace
        if timeout is not None and grace is not None:
            timeout += (
                grace  # it enforces the deadline itself; ours is for a reader that keeps it from going on
            )
        heartbeat = self.command.heartbeat if self.command.unbounded else None
        Supervisor(
            self.sink.emitter,
            self.interrupts,
            timeout=timeout,
            heartbeat=heartbeat,
            last_words=self._last_words,
            grace=GRACE if grace is None else grace,
        ).start()

    def _begin(self) -> None:
        try:
            if self._refusal is None:
                self.schema_version, self.convert = self._negotiate()
                self._reduce()
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
        if self.reduction is not None:
            meta["reduced"] = True
        self.head = meta
        if self._refusal is not None or not self.command.relays:
            self.sink.meta(meta)
        else:
            self.amend_meta({})
        if self._refusal is not None:
            raise self._refusal

    def _negotiate(self) -> "tuple[str, Callable[[dict[str, Any]], dict[str, Any] | None] | None]":
        options = self.call.options
        if "schema-version" not in options and "accept-schema" not in options:
            return self.tool.schema_version, None
        from operable.tool.discovery.versions import negotiate

        return negotiate(self.tool, options)

    def _reduce(self) -> None:
        """Let the results have only what the caller wants of them."""
        if "fields" in self.call.options or "compact" in self.call.options:
            from operable.tool.run.reduction import Reduction

            self.reduction = Reduction(self.tool, self.command, self.call.options, self.schema_version)
            self.convert = self.reduction.after(self.convert)

    def _perform(self) -> None:
        arguments, keywords = self._arguments()
        if self.call.former or self.command.deprecated:
            from operable.tool.run.misuse import outdated

            for warning in outdated(self.command, self.call.former):
                self.notice(warning.fields)
        if self.command.mutates:
            from operable.tool.run.mutation import mutate

            mutate(self, self.outflow, arguments, keywords)
        else:
            self.outflow.stream(self.iterate(self.command.function(*arguments, **keywords)))
        for name in self.command.streams():
            keywords[name].finish()
        if self.reduction is not None and (missing := self.reduction.missing()) is not None:
            self.notice(missing)

    def _arguments(self) -> "tuple[list[Any], dict[str, Any]]":
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        values = self.call.values
        groups: dict[str, dict[str, Any]] = {}
        spread = any(param.spread for param in self.command.params)
        for param in self.command.params:
            if param.spread:
                arguments.extend(values[param.name])
            elif param.operand and spread:  # only by its place can an operand come before *others
                arguments.append(values[param.name])
            elif param.group:
                groups.setdefault(param.group, {})[param.name] = values[param.name]
            else:
                keywords[param.name] = values[param.name]
        for name, what in self.command.injected.items():
            keywords[name] = what(**groups.get(name, {})) if is_group(what) else self._inject(what)
            if what is self.tool.options:
                self.shared = keywords[name]
        if SHARED in groups and self.tool.options is not None:
            self.shared = self.tool.options(**groups[SHARED])
        return arguments, keywords

    def _inject(self, what: "Any") -> "Any":
        if what == "Context":
            from operable.tool.run.context import Context

            return Context(self)
        if what == "Page":
            return self._page()
        if what == "Relay":
            from operable.tool.run.context import Relay

            return Relay(self, self.outflow)
        from operable.tool.run.intake import Intake

        return Intake(self, what.model)

    def _page(self) -> "Any":
        from operable.tool.kinds import Page

        limit, cursor = self.limit(), self.call.options.get("cursor")
        page = Page(fetch=None if limit is None else limit + 1)
        if cursor is not None:
            from operable.tool.run.cursor import read_cursor

            page.after = read_cursor(cursor, self.command, self.call.values)
        return page

    # -- how it ended --------------------------------------------------------------------------------------------------

    def _stopped(self) -> int:
        """A signal, a deadline or a lost output ended the command: say so, if the caller still reads."""
        stop = self.interrupts.stop
        exit_code = EX_SIGINT if stop is None else stop.exit_code
        reason = INTERRUPTED if stop is None else stop.reason
        try:
            if reason == OUTPUT_LOST:
                self.sink.close()
            self.remarks["reason"] = reason
            self.partial = True
            if reason == TIMEOUT:
                self._late = True
                self.sink.error(self._timed_out())
                self._timeout_told = True
            self._close(exit_code)
        except OutputLost as lost:
            return self._output_lost(lost)
        return exit_code

    def _timed_out(self) -> "Fail":
        message = f"{self.command.name} did not end within {self.timeout():g} s"
        return Fail("timeout", "TIMEOUT", message, hint="raise --timeout")

    def _last_words(self, stop: "StopReason", results: int) -> "list[str]":
        """The end of the stream, said by the supervisor in place of a main thread that does not come back."""
        self.partial, self.remarks["reason"] = True, stop.reason
        lines = []
        if stop.reason == TIMEOUT:
            self._late = True
            if not self._timeout_told:  # else it came back, only too late to end the stream
                lines.append(json_text(self._timed_out().event()))
        self.count = max(self.count, results)
        return [*lines, json_text(self._summary(stop.exit_code))]

    def _close(self, exit_code: int) -> None:
        """Say the last word."""
        # A stop may have come between showing a result and counting it here.
        self.count = max(self.count, self.sink.results())
        self.sink.summary(self._summary(exit_code))
        self.interrupts.exit_code = exit_code

    def _output_lost(self, lost: "OutputLost") -> int:
        if not lost.quiet:
            self.sink.complain(f"{self.tool.name}: cannot write the output: {lost}")
        return lost.exit_code

    def _failed(self, problem: "BaseException") -> int:
        from operable.tool.run.failure import as_fail, show_traceback

        fail = as_fail(problem, command=self.command.name)
        if fail.category == "usage" and fail.hint is None and self.command.name:
            fail.hint = f"see {self.tool.invocation} {self.command.name} --help"
        self.partial = self.partial or self.count > 0
        self._report(fail)
        if "debug" in self.call.options:
            show_traceback(problem, self.sink.secrets)
        return fail.exit_code

    def _report(self, fail: "Fail") -> None:
        self.errors += 1
        self.sink.error(fail)

    def _summary(self, exit_code: int) -> "dict[str, Any]":
        summary: dict[str, Any] = {
            "type": "aoi:summary",
            "ok": exit_code == EX_OK,
            "count": self.count + self.checked,
            "warning_count": self.warnings,
            "error_count": self.errors + self._late,
            "partial": self.partial,
            "truncated": self.truncated,
            "next_cursor": self.next_cursor,
            "elapsed_ms": round((monotonic() - self.started) * 1000),
        }
        summary.update(self.remarks)
        return summary
