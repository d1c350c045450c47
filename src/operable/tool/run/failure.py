"""Turns whatever an author's code raised into the one structured error. Loaded only when something failed."""

from __future__ import annotations

from errno import errorcode

from operable.kernel.errors import EX_SOFTWARE, Fail
from operable.kernel.redact import Redactor, redact_text
from operable.tool.run.context import interactive_required

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A message is for reading; a user who needs megabytes of it has --debug.
_LONGEST = 2000


def as_fail(problem: BaseException, *, command: str) -> Fail:
    """The Fail for any exception; what is unexpected is internal, with its text redacted and no traceback."""
    fail = _fail(_leaf(problem), command)
    if not 0 < fail.exit_code < 256:  # an exit status has eight bits, and 0 would say that all is well
        fail.exit_code = EX_SOFTWARE
    return fail


def _leaf(problem: BaseException) -> BaseException:
    """What a task group has wrapped: its one exception, or its first Fail; else the group as it is."""
    leaves = list(_leaves(problem))
    if len(leaves) == 1:
        return leaves[0]
    return next((leaf for leaf in leaves if isinstance(leaf, Fail)), problem)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if not isinstance(problem, BaseExceptionGroup):
        yield problem
        return
    for inner in problem.exceptions:
        yield from _leaves(inner)


def _fail(problem: BaseException, command: str) -> Fail:
    if isinstance(problem, Fail):
        return problem
    if isinstance(problem, EOFError) and _was_prompt(problem):
        return interactive_required(
            f"{command} asked a question", f"run {command} at a terminal, without --output"
        )
    if isinstance(problem, OSError):
        return _of_system(problem)
    if isinstance(problem, SystemExit):
        said = f": {_text(problem)}" if isinstance(problem.code, str) else ""
        status = problem.code if isinstance(problem.code, int) and problem.code else None
        return Fail(
            "internal", "EXITED", f"{command} left without finishing its stream{said}", exit_code=status
        )
    if isinstance(problem, KeyboardInterrupt):
        return Fail("cancelled", "CANCELLED", f"{command} was cancelled")
    return Fail(
        "internal",
        "INTERNAL_ERROR",
        f"Unexpected {type(problem).__name__}: {_text(problem)}",
        hint="run again with --debug for the traceback on stderr",
    )


def _was_prompt(problem: EOFError) -> bool:
    """Whether input() or getpass() found no user; other code has other reasons to miss the end of something."""
    if problem.args == ("EOF when reading a line",):
        return True
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == "getpass"


def _of_system(problem: OSError) -> Fail:
    """Time and connections are likely to be better next time; files are not."""
    category = "io"
    if isinstance(problem, FileNotFoundError):
        category = "not_found"
    elif isinstance(problem, PermissionError):
        category = "authz"
    elif isinstance(problem, TimeoutError):
        category = "timeout"
    elif isinstance(problem, ConnectionError) and not isinstance(problem, BrokenPipeError):
        category = "temporary"
    code = errorcode.get(problem.errno or 0, "TIMEOUT" if category == "timeout" else "IO_ERROR")
    target = problem.filename if isinstance(problem.filename, str) else None
    message = redact_text(problem.strerror) if problem.strerror else _text(problem)
    return Fail(category, code, message or type(problem).__name__, target=target)


def _text(problem: BaseException) -> str:
    try:
        text = str(problem)
    except Exception:  # noqa: BLE001 - an exception that cannot say what it is must not hide that there is one
        return "(it does not say what)"
    if len(text) <= _LONGEST:
        return redact_text(text)
    # Not in the middle of a word: masking does not know half of a secret, and half of it is still a leak.
    return redact_text(" ".join(text[:_LONGEST].split(" ")[:-1])) + " …"


def show_traceback(problem: BaseException, secrets: tuple[str, ...]) -> None:
    """The traceback, redacted, on stderr; only --debug asks for it."""
    import sys
    from traceback import format_exception

    if sys.stderr is None:
        return
    try:
        sys.stderr.write(redact_text(Redactor(secrets).text("".join(format_exception(problem)))))
        sys.stderr.flush()
    except (OSError, ValueError):  # closed, or without a reader; the stream goes on without
        return
