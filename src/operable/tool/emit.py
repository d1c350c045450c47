"""The private stdout: lines in, few and large writes out, nothing torn and nothing late.

Theory of operation. In machine mode the real stdout moves to a descriptor of our own and descriptor 1 points at
stderr, so that a stray `print`, a C library or a child process cannot put a byte into the stream. Lines are collected
and written as a block when 64 KiB are there. A line that finds the buffer empty after a quiet moment is written at
once; one that comes in a burst waits for company, but at most `LATEST` seconds, because the supervisor's thread then
writes the block. So a slow stream has no delay, a fast one no system call per line, and neither needs a timer per
event.

A block is written under a lock and shielded from the interrupts of `interrupt`, so a signal never tears a line.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from time import monotonic

from operable.kernel.errors import EX_IOERR, EX_SIGPIPE
from operable.tool.json_text import wire_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from operable.tool.interrupt import Interrupts

BLOCK = 65_536  # the size of a Linux pipe: a larger write would only wait for the reader in the kernel
LATEST = 0.02  # a consumer is promised an event within 50 ms; half of that is left for a busy machine


class OutputLost(Exception):  # noqa: N818 - not always an error: often the reader has had enough
    """Nothing can be written any more: the reader closed the pipe (a quiet end) or the output failed."""

    def __init__(self, failure: OSError) -> None:
        super().__init__(failure.strerror or str(failure))
        self.quiet = isinstance(failure, BrokenPipeError)
        self.exit_code = EX_SIGPIPE if self.quiet else EX_IOERR


class Emitter:
    """Writes lines to a descriptor."""

    def __init__(self, descriptor: int, interrupts: Interrupts) -> None:
        self.descriptor = descriptor
        self.failure: OSError | None = None
        self.wake: Callable[[], object] | None = None  # asks the supervisor to flush soon
        self.mask: Callable[[str], str] | None = None  # hides known secret values in encoded lines
        self.written = monotonic()
        self._interrupts = interrupts
        self._lock = allocate_lock()
        self._lines: list[str] = []
        self._size = 0
        if hasattr(os, "register_at_fork"):
            # A forked child (multiprocessing) inherits the buffer and must not write the parent's lines a second time.
            os.register_at_fork(after_in_child=self._forget)

    def line(self, text: str) -> None:
        """Add one line (without its newline)."""
        lines = self._lines
        lines.append(text)
        if len(lines) > 1:
            self._size += len(text)
            if self._size >= BLOCK:
                self.flush()
            return
        self._size = len(text)
        if self._size >= BLOCK or self.wake is None or monotonic() - self.written > LATEST:
            self.flush()
        else:
            self.wake()

    def flush(self) -> None:
        """Write what is there, from the main thread; raises OutputLost when that is not possible."""
        with self._interrupts:
            self.drain()
        if self.failure is not None:
            raise OutputLost(self.failure)

    def drain(self) -> None:
        """Write what is there, from any thread. A failure is kept in `failure`, for whoever flushes next."""
        with self._lock:
            # The list is emptied in place and only up to what was seen, so a line that the other thread adds meanwhile
            # stays for the next time.
            seen = len(self._lines)
            lines = self._lines[:seen]
            del self._lines[:seen]
            self._size = 0
            if lines and self.failure is None:
                self._write(lines)

    def _write(self, lines: list[str]) -> None:
        lines.append("")
        text = "\n".join(lines)
        data = memoryview(wire_bytes(self.mask(text) if self.mask else text))
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError as failure:
            self.failure = BrokenPipeError() if isinstance(failure, ConnectionError) else failure
        self.written = monotonic()

    def _forget(self) -> None:
        self._lock = allocate_lock()
        self._lines, self._size = [], 0


def take_stdout() -> int:
    """Move the real stdout to a private descriptor; descriptor 1 becomes stderr. Raises OSError when stdout is closed."""
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed: what is printed by accident goes nowhere
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        if nowhere != 1:
            os.close(nowhere)
    return private


def close_stdin() -> None:
    """Let nobody wait for a person: machine mode does not prompt (AOI section 1.3)."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if nothing != 0:
        os.close(nothing)
