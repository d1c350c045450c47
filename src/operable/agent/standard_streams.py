"""The lines of a protocol on standard input and output: commands in, until an end, and whole lines out, from any thread.

`end` may come from any thread and from a signal handler; what was read until then is still delivered line by line, but
nothing more is read. A line that is too long is delivered as `LineTooLong`, and the line after it as if nothing had
happened: where one line ends and the next begins is beyond doubt in this protocol.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator

from operable.wire.lines import LineTooLong, SkippingSplitter

LINE_LIMIT = 32 * 1024 * 1024  # a message with an image in it is long; more than this belongs in a file
_CHUNK = 1 << 16
_PIECE = select.PIPE_BUF  # a pipe that is writable has room for as much
_LOOK = 0.1  # seconds; how soon a blocked writer notices that it should hurry
_PATIENCE = 1.0  # seconds; for the last words to a host that does not read


class CommandLines:
    """Iterate over it once."""

    def __init__(self, descriptor: int, limit: int = LINE_LIMIT) -> None:
        self._descriptor = descriptor
        self._lines = SkippingSplitter(limit)
        self._woken, self.wake = os.pipe()  # what is written to `wake` ends a wait for the next line
        os.set_blocking(self._woken, False)
        os.set_blocking(self.wake, False)
        self._ended = False

    def end(self) -> None:
        """Stop reading."""
        self._ended = True
        try:
            os.write(self.wake, b"\0")
        except BlockingIOError:
            return  # it is full of reasons to wake up

    def __iter__(self) -> Iterator[bytes | LineTooLong]:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while not self._ended:
            ready = [descriptor for descriptor, _ in poll.poll()]
            if self._woken in ready:
                os.read(self._woken, _CHUNK)
                continue  # perhaps it is over; if not, what has come waits
            chunk = os.read(self._descriptor, _CHUNK)
            if not chunk:
                yield from self._last_line()
                return
            yield from self.feed(chunk)

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """The lines that this chunk completes; empty ones are ignored."""
        return (line for line in self._lines.feed(chunk) if isinstance(line, LineTooLong) or line.strip())

    def _last_line(self) -> Iterator[bytes]:
        if (rest := self._lines.eof()) and rest.strip():
            yield rest


# Protocol lines on their way out: whole lines, from any thread, and no wait that cannot be ended.
# A line goes out in pieces that a pipe with any room takes without blocking. A host that does not read makes the writer
# wait, which is how a model is slowed down that says more than its host can take; but once the process is asked to end
# (`hurry`), the wait also ends. `on_gone` is called once when the host is gone.
class LineOutlet:
    """The real stdout. `gone`: no host reads it any more, what is written is dropped."""

    def __init__(self, descriptor: int, on_gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._deadline: float | None = None
        self.gone = False

    def hurry(self) -> None:
        """The process is about to end: from now on, do not wait long. Also from a signal handler."""
        if self._deadline is None:
            self._deadline = time.monotonic() + _PATIENCE

    def write(self, line: bytes) -> None:
        """All of it, unless the host is gone."""
        with self._lock:
            rest = memoryview(line)
            while rest and not self.gone:
                rest = rest[self._write_piece(rest[:_PIECE]) :]

    def _write_piece(self, piece: memoryview) -> int:
        if not self._poll.poll(_LOOK * 1000):
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._lose()
            return 0
        try:
            return os.write(self._descriptor, piece)
        except OSError:
            self._lose()
            return 0

    def _lose(self) -> None:
        self.gone = True
        self._on_gone()
