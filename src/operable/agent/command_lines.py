"""Commands on their way in: the lines of stdin, until it ends or another thread ends it.

`end` may come from any thread and from a signal handler; what was read until then is still delivered line by line, but
nothing more is read. A line that is too long is delivered as `LineTooLong`, and the line after it as if nothing had
happened: where one line ends and the next begins is beyond doubt in this protocol.
"""

import os
import select
from collections.abc import Iterator

from operable.wire.lines import LineTooLong, SkippingSplitter

LINE_LIMIT = 32 * 1024 * 1024  # a message with an image in it is long; more than this belongs in a file
_CHUNK = 1 << 16


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
