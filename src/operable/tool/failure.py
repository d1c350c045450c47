"""Turns whatever an author's code raised into the one structured error. Loaded only when something failed."""

from __future__ import annotations

from errno import errorcode

from operable.kernel.errors import Fail
from operable.kernel.redact import Redactor, redact_text
from operable.tool.context import interactive_required


def as_fail(problem: BaseException, *, machine: bool, command: str) -> Fail:
    """The Fail for any exception; what is unexpected is internal, with its text redacted and no traceback."""
    if isinstance(problem, Fail):
        return problem
    if isinstance(problem, EOFError) and machine:
        # Descriptor 0 is empty in machine mode, so this is somebody's input() or a child's prompt.
        return interactive_required(f"{command} tried to read from the terminal")
    if isinstance(problem, OSError):
        code = errorcode.get(problem.errno or 0, "IO_ERROR")
        target = problem.filename if isinstance(problem.filename, str) else None
        return Fail("io", code, redact_text(problem.strerror or str(problem)), target=target)
    if isinstance(problem, SystemExit):
        status = problem.code if isinstance(problem.code, int) and problem.code else None
        return Fail("internal", "EXITED", f"{command} left without finishing its stream", exit_code=status)
    if isinstance(problem, KeyboardInterrupt):
        return Fail("cancelled", "CANCELLED", f"{command} was cancelled")
    text = redact_text(f"{type(problem).__name__}: {problem}"[:2000])
    return Fail(
        "internal",
        "INTERNAL_ERROR",
        f"Unexpected {text}",
        hint="run again with --debug for the traceback on stderr",
    )


def show_traceback(problem: BaseException, secrets: tuple[str, ...]) -> None:
    """The traceback, redacted, on stderr; only --debug asks for it."""
    import sys
    from traceback import format_exception

    text = "".join(format_exception(problem))
    sys.stderr.write(redact_text(Redactor(secrets).text(text)))
    sys.stderr.flush()
