"""Requests out of chunks: lines ended by LF, and what is too long to be one is skipped.

Unlike the readers of event streams (`operable.wire.frames`), a server goes on after a line that is too long: its
client waits for an answer, and the next line is a request of its own. Memory stays within the limit and one chunk.
"""

from collections.abc import Iterator

REQUEST_LIMIT = 16 * 1024 * 1024
"""Bytes of one request, without its LF. A manifest of this size has tens of thousands of tasks."""


class RequestLines:
    """Feed it chunks, get lines without their LF; None stands for one that was too long."""

    def __init__(self, limit: int = REQUEST_LIMIT) -> None:
        self.limit = limit
        self._kept = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield self._end(piece)
        if rest:
            self._keep(rest)

    def eof(self) -> Iterator[bytes | None]:
        """What follows the last LF: a request as well."""
        if self._kept or self._skipping:
            yield self._end(b"")

    def _end(self, piece: bytes) -> bytes | None:
        if not self._kept and not self._skipping:
            return piece if len(piece) <= self.limit else None
        self._keep(piece)
        line = None if self._skipping else bytes(self._kept)
        self._kept.clear()
        self._skipping = False
        return line

    def _keep(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._kept) + len(piece) > self.limit:
            self._skipping = True
            self._kept.clear()
        else:
            self._kept += piece
