"""Commands on their way in: the lines of stdin, until it ends or somebody ends it.

`end` may come from any thread and from a signal handler; what was read until then is still delivered line by line, but
nothing more is read. A line that is too long is delivered as `LineTooLong`, and the line after it as if nothing had
happened: where one line ends and the next begins is beyond doubt in this protocol.
"""

import os
import select
from collections.abc import Iterator
from io import BytesIO

from operable.wire.frames import LineSplitter, LineTooLong

LINE_LIMIT = 32 * 1024 * 1024  # a message with an image in it is long; more than this belongs in a file
_CHUNK = 1 << 16


class CommandLines:
    """Iterate over it once."""

    def __init__(self, descriptor: int, limit: int = LINE_LIMIT) -> None:
        self._descriptor = descriptor
        self._limit = limit
        self._lines = LineSplitter(limit)
        self._skipping = False  # inside the rest of a line that was too long
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
        """The lines that this chunk completes; empty ones are nobody's."""
        for piece in BytesIO(chunk):  # at most one line each, so that it is known what to skip
            ends = piece.endswith(b"\n")
            if self._skipping:
                self._skipping = not ends
                continue
            yield from (line for line in self._lines.feed(piece) if line.strip())
            if self._lines.error is not None:
                yield self._lines.error
                self._lines = LineSplitter(self._limit)
                self._skipping = not ends

    def _last_line(self) -> Iterator[bytes]:
        if not self._skipping and (rest := self._lines.eof()) and rest.strip():
            yield rest
