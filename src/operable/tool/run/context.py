"""What a running command may know of its surroundings, and how it passes on the events of other tools.

Given to a command that has a parameter `context: Context` or `relay: Relay`. A relay's own meta event waits until the
other tool has introduced itself (`introduce`), so that one event says whose results follow; it goes out before anything
else does. Events are passed on as the lines that came (`lines`): what is not encoded again cannot change, and costs next
to nothing. For people they are shown one by one (`event`). Warnings, errors and results are counted, so that the one
summary at the end speaks for them all. Or the command releases the stream (`take_stdout`), because what it has to write
is a whole stream already.
"""

from __future__ import annotations

import os

from operable.kernel.errors import CATEGORIES, Fail
from operable.tool.records import json_text, utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from operable.tool.outflow import Outflow, RunState
    from operable.tool.records import Event


_LOOK_EVERY = 0.2  # seconds between two looks at whether a question still waits


class Context:
    """The circumstances of one run."""

    def __init__(self, run: RunState) -> None:
        options = run.call.options
        self.tool = run.tool.name
        self.command = run.command.name
        self.machine = run.machine
        self.trace_id = run.trace_id
        self.schema_version = run.schema_version  # the one that was negotiated
        self.debug = "debug" in options
        self.plain = "no-color" in options or bool(os.environ.get("NO_COLOR"))  # people want no colour
        self.dry_run = "dry-run" in options
        self.confirmed = "confirm" in options or "confirm-count" in options
        self.idempotency_key: str | None = options.get("idempotency-key")
        self.timeout = run.timeout()  # seconds for the whole run; None: as long as it takes
        self._run = run
        self._sink = run.sink

    def conclude(
        self,
        *,
        exit_code: int | None = None,
        partial: bool | None = None,
        truncated: bool | None = None,
        next_cursor: str | None = None,
        **fields: Any,
    ) -> None:
        """Say in the summary what counting alone cannot show, and end with this exit code: only 0 is ok.

        `message` is also the closing word to people. May be called again; what is not given stays.
        """
        run = self._run
        if exit_code is not None:
            run.exit_code = exit_code
        if partial is not None:
            run.partial = partial
        if truncated is not None:
            run.truncated = truncated
        if next_cursor is not None:
            run.next_cursor = next_cursor
        if run.sink.secrets:
            from operable.tool.secrecy import masked

            fields = masked(fields, run.sink.secrets)
        run.remarks.update(fields)

    def applied(self) -> None:
        """Say that every effect has been made and only results follow: a stop ends the command from here on, as it does
        where nothing is changed.
        """
        self._run.interrupts.applying = False
        self._run.interrupts.raise_if_stopped()

    @property
    def options(self) -> Any:
        """The options that every command of the tool has, a value of the tool's `options`; None if it has none."""
        return self._run.shared

    @property
    def person(self) -> bool:
        """Whether a user at a terminal can be asked."""
        return not self.machine and os.isatty(0) and os.isatty(2)

    def show(self, text: str, style: str = "") -> None:
        """Running text for people (a model's answer, word by word) in place of a table; nothing in machine mode.

        `style` is a style of rich ("bold red"), for a terminal that shows colour.
        """
        self._sink.prose(text, style)

    def warn(self, code: str, message: str, **fields: Any) -> None:
        """Say at once that something is not as it should be; the operation goes on."""
        from operable.tool.framework import Warn

        self._run.notice(Warn(code, message, **fields).fields)

    def ask(
        self,
        question: str,
        *,
        hint: str,
        secret: bool = False,
        fresh: bool = False,
        withdrawn: Callable[[], bool] | None = None,
    ) -> str:
        """Ask the person at the terminal. In machine mode, or without a user, this is INTERACTIVE_REQUIRED instead.
        `fresh`: what was typed before the question is not an answer to it; for permissions. `withdrawn` is asked several
        times a second: once it is true, the wait ends with Fail conflict/QUESTION_WITHDRAWN.
        """
        if not self.person:
            raise interactive_required(question, hint)
        if fresh:
            discard_input()
        if secret:
            from getpass import getpass

            answer = getpass(f"{question} ")
            self._sink.secrets = (*self._sink.secrets, answer)  # never to be shown again
            return answer
        import sys

        sys.stderr.write(f"{question} ")
        sys.stderr.flush()
        if withdrawn is not None:
            wait_for_line(withdrawn)
        try:
            return input()
        except EOFError:
            raise interactive_required(question, hint) from None


def wait_for_line(withdrawn: Callable[[], bool]) -> None:
    """Return when the person has typed a line, or ended the input. Fail when the question is withdrawn before that."""
    import select
    import sys

    while not select.select([0], [], [], _LOOK_EVERY)[0]:
        if withdrawn():
            sys.stderr.write("\n")
            raise Fail(
                "conflict", "QUESTION_WITHDRAWN", "The question was answered elsewhere, or its time is over."
            )


def discard_input() -> None:
    """Forget what was typed at the terminal and not read yet: a user cannot agree to what was not shown."""
    import termios

    try:
        termios.tcflush(0, termios.TCIFLUSH)
    except termios.error:
        return  # standard input is not a terminal


def interactive_required(what: str, hint: str | None = None) -> Fail:
    """The error of AOI section 1.3. The hint is for a person; it is not to be run by a program."""
    return Fail("authn", "INTERACTIVE_REQUIRED", f"A person is needed here: {what}", hint=hint)


class Relay(Context):
    """A context that can also speak for others. For plain functions: what passes here, a generator does not yield."""

    def __init__(self, run: RunState, outflow: Outflow) -> None:
        super().__init__(run)
        self._outflow = outflow
        self.limit = run.limit()  # how many results may be passed on; None: all
        self.max_bytes: int | None = run.call.options.get("max-bytes")
        self.reduces = run.reduction is not None  # lines of results must go through `reduced`

    def reduced(self, event: dict[str, Any]) -> bytes:
        """The line of a result, with what the caller wants of it; machine mode only."""
        reduction = self._run.reduction
        return utf8(json_text(event if reduction is None else reduction.reduced(event)))

    def introduce(self, **fields: Any) -> None:
        """Add to our own meta event, which has not been written yet, what the other tool says of itself."""
        self._run.amend_meta(fields)

    def lines(self, data: bytes, *, results: int, warnings: int = 0, errors: int = 0) -> None:
        """Pass on whole lines as they are; machine mode only."""
        emitter = self._run.sink.emitter
        if emitter is None:
            msg = "lines are for machines; show people the events"
            raise TypeError(msg)
        self._run.count += results
        self._run.warnings += warnings
        self._run.errors += errors
        emitter.block(data, results)

    def event(self, event: dict[str, Any], *, source: str, result: bool = True) -> None:
        """Show people one event of `source`, whatever its type and whatever is in it. `result`: it counts."""
        kind = event["type"]
        if kind == "aoi:error":
            self._run.errors += 1
            self._run.sink.error(foreign_error(event, source))
        elif not kind.startswith("aoi:"):
            self._run.count += 1
            self._outflow.repeat({"content": None, **event} if kind == "discovery_document" else event)
        elif (notice := _notice(kind, event)) is not None:
            self._run.count += result and kind == "aoi:plan"
            self._run.notice(notice)

    def result(self, event: Event) -> None:
        """An event of our own, in its place among the others."""
        self._run.count += 1
        self._run.sink.put(self._run.sink.encoder(event.__class__)(event))

    def settle(self) -> None:
        """Let people see what has come so far."""
        self._run.sink.settle()

    def take_stdout(self) -> int:
        """The descriptor of the output, to write a whole stream to; nothing of ours is written from here on."""
        emitter = self._run.sink.emitter
        if emitter is None:
            return 1
        emitter.surrender()
        return emitter.descriptor


def foreign_error(event: dict[str, Any], source: str) -> Fail:
    """The error of another tool as one of ours, as far as people need it."""
    category, code, hint, target = (_text(event, name) for name in ("category", "code", "hint", "target"))
    return Fail(
        category if category in CATEGORIES else "internal",
        code or "UNKNOWN",
        f"{source}: {_text(event, 'message') or code or 'an error without a message'}",
        hint=hint or None,
        target=target or None,
        retryable=event.get("retryable") is True,
    )


def _notice(kind: str, event: dict[str, Any]) -> dict[str, Any] | None:
    """A framework event with what showing it takes, in the types that takes; None for one that cannot be shown."""
    if kind == "aoi:warning":
        return {**event, "message": _text(event, "message") or _text(event, "code")}
    if kind == "aoi:plan":
        return {**event, "action": _text(event, "action") or "change", "target": _text(event, "target")}
    if kind == "aoi:check":
        texts = {"name": _text(event, "name") or "check", "detail": _text(event, "detail")}
        return {
            **event,
            **texts,
            "ok": event.get("ok") is True,
            "severity": _text(event, "severity") or "error",
        }
    if kind == "aoi:progress" and _is_number(event.get("done")):
        total = event.get("total")
        return {**event, "message": _text(event, "message"), "total": total if _is_number(total) else None}
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
