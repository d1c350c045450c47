"""How a tool's process ends: everything written, everything promised done, and no time lost.

Taking the interpreter apart costs a fifth of a short command (docs/decisions/0005), so the process ends with `os._exit`
after what an orderly exit promises: threads joined, `atexit` called, streams flushed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def leave(exit_code: int) -> NoReturn:
    """End the process."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # noqa: SLF001 - what the interpreter itself calls at exit
    import atexit

    atexit._run_exitfuncs()  # noqa: SLF001 - the same
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
