"""What a tool writes to its stderr, shown to the person who runs it: as it comes, redacted, and never waited for.

Called in the thread that looks after the process, which must not be held: what the terminal, or the reader of our
stderr, does not take at once is dropped. The verdict keeps the end of it anyway.
"""

from __future__ import annotations

import os
import select

from operable.kernel.redact import Redactor
from operable.wire.lines import SkippingSplitter

# A pipe that can be written to takes this much without blocking (POSIX: PIPE_BUF).
_PIECE = 512
# A diagnostic line that is longer than this is not text; it is not shown.
_LINE_LIMIT = 64 * 1024


class Diagnostics:
    """Feed it pieces of a stream; whole lines are shown."""

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self._redactor = Redactor()
        self._splitter = SkippingSplitter(_LINE_LIMIT)
        self._poller = select.poll()
        self._poller.register(descriptor, select.POLLOUT)

    def feed(self, piece: bytes) -> None:
        for line in self._splitter.feed(piece):
            if isinstance(line, bytes):
                self._show(_inert(self._redactor.line(line)) + b"\n")

    def _show(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest and self._poller.poll(0):
                rest = rest[os.write(self._descriptor, rest[:_PIECE]) :]
        except OSError:
            return  # it has no reader


def _inert(line: bytes) -> bytes:
    """Without what a terminal would obey."""
    text = line.decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() or letter == "\t" else "·" for letter in text).encode()
