"""The process of a tool: its standard descriptors in machine mode, and its end.

In machine mode only the stream gets out, and no code waits for a person. The real stdout moves to a descriptor of our
own and descriptor 1 points at stderr, so that a stray `print`, a C library or a child process cannot put a byte into
the stream. Descriptor 0 becomes empty, and the terminal is released, so that a prompt, here or in a child, fails at once
instead of waiting (AOI section 1.3). Structured input is read from a private copy of stdin, which no child can eat.

Taking the interpreter apart costs a fifth of a short command (docs/decisions/0005), so the process ends with `os._exit`
after what an orderly exit promises: threads joined, `atexit` called, streams flushed. For the same reason the collector
of cyclic garbage does not run while a command starts.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

STDIN_NAMES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
# How many new objects make the collector look for garbage: what interpreters begin with (3.11, 3.13), and what we set.
# Rows with a list in them count, and are made and freed by the hundred: looking at them took a fifth of `wrap rg`.
_USUAL, _RARE = (700, 2000), 10_000
_stdin = 0
_resume: "Callable[[], object] | None" = None


def take_stdout() -> int:
    """Move the real stdout to a private descriptor; descriptor 1 becomes stderr. Raises OSError when stdout is closed."""
    if sys.__stdout__ is None:  # closed when the process began; by now another file may have its number
        raise OSError("stdout is closed")
    nowhere = _open_all()
    private = os.dup(1)
    os.dup2(nowhere if sys.__stderr__ is None else 2, 1)
    os.close(nowhere)
    return private


def take_stdin() -> None:
    """Keep the real stdin for `input_descriptor`; descriptor 0 becomes empty."""
    global _stdin  # noqa: PLW0603 - the process has one stdin
    _stdin = -1 if sys.__stdin__ is None else os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def input_descriptor() -> int:
    """Where structured input from stdin is read; raises OSError when stdin is closed."""
    if _stdin < 0 or sys.__stdin__ is None:
        raise OSError("stdin is closed")
    return _stdin


def complain(text: str) -> None:
    """A word on stderr when the output itself is gone; if that is gone too there is no reader left to inform."""
    if sys.__stderr__ is None:
        return  # descriptor 2 may be anything
    try:
        os.write(2, f"{text}\n".encode())
    except OSError:
        return


def let_go_of_terminal() -> None:
    """Give up the controlling terminal, for us and our children; Ctrl-C still comes, it is sent to the process group.

    A session leader keeps it: with the leader the whole session would lose it, and Ctrl-C with it.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return  # no terminal, as usual with agents
    try:
        if os.getsid(0) != os.getpid():
            from fcntl import ioctl
            from termios import TIOCNOTTY

            ioctl(terminal, TIOCNOTTY)
    finally:
        os.close(terminal)


def _open_all() -> int:
    """Open /dev/null for each of 0, 1 and 2 that is closed, and once more; return that one.

    A copy that is made while 2 is closed would get that number: what is said on stderr would get into the stream.
    """
    while True:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere > 2:
            return nowhere
        os.set_inheritable(nowhere, True)


def postpone_collection() -> None:
    """Look for cyclic garbage only after `resume_collection`: a short command leaves none, and looking took a tenth of it.

    The supervisor of a run resumes it, a quarter of a second after the start at the latest. From then on it is looked for
    less often than usual, unless the author has said how often.
    """
    global _resume  # noqa: PLW0603 - the process has one collector
    import gc

    if gc.isenabled():  # else it is the author's decision
        gc.disable()
        _resume = gc.enable
        youngest, *older = gc.get_threshold()
        if youngest in _USUAL:
            gc.set_threshold(_RARE, *older)


def resume_collection() -> None:
    """Look for cyclic garbage as usual from now on. Called by another thread, so it imports nothing."""
    global _resume  # noqa: PLW0603 - the process has one collector
    if _resume is not None:
        _resume()
        _resume = None


ending: "int | None" = None  # the exit status, once the process ends; for what is called at its exit


def leave(exit_code: int) -> "NoReturn":
    """End the process."""
    global ending  # noqa: PLW0603 - a fact of the process, known here only
    ending = exit_code
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # noqa: SLF001 - what the interpreter itself calls at exit
    if "atexit" in sys.modules:
        sys.modules["atexit"]._run_exitfuncs()  # noqa: SLF001 - the same
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, broken or absent: it has no reader
    os._exit(exit_code)


def write_all(descriptor: int, data: bytes) -> int:
    """Write everything; the exit code that follows: 0, 141 when the reader has left, 74 when the output failed."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError as failure:
        from operable.kernel.errors import EX_IOERR, EX_SIGPIPE

        if isinstance(failure, BrokenPipeError):
            return EX_SIGPIPE
        try:
            os.write(2, f"cannot write the output: {failure.strerror}\n".encode())
        except OSError:
            return EX_IOERR  # no reader is left to inform
        return EX_IOERR
    return 0
