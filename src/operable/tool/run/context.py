"""What a running command may know of its surroundings; given to one that has a parameter `context: Context`."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.run.state import RunState


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
            from operable.tool.emit.sinks import masked

            fields = masked(fields, run.sink.secrets)
        run.remarks.update(fields)

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
        from operable.tool.declare.framework import Warn

        self._run.notice(Warn(code, message, **fields).fields)

    def ask(self, question: str, *, hint: str, secret: bool = False, fresh: bool = False) -> str:
        """Ask the person at the terminal. In machine mode, or without a user, this is INTERACTIVE_REQUIRED instead.
        `fresh`: what was typed before the question is not an answer to it; for permissions.
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
        try:
            return input()
        except EOFError:
            raise interactive_required(question, hint) from None


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
