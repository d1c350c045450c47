"""What a run prints, as it comes: on stdout with the time of each piece, and on a terminal that does not answer.

It keeps what is worth looking at and counts the rest. When a tool is to be stopped for what it prints, and when its stream
has begun, is decided by `trial`.
"""

from __future__ import annotations

import os

from operable.proc.reactor import Reactor

# A tool that prints more for a sample call is flooding; of that, so much is kept as is worth looking at.
FLOOD = 16 * 1024 * 1024
KEPT = 64 * 1024
_TERMINAL_LIMIT = 1024 * 1024


class Recording:
    """The stdout of one run. Times are seconds since its start."""

    def __init__(self) -> None:
        self.filled = 0  # what we put into the pipe ourselves, still to be thrown away
        self.first: float | None = None
        self.arrivals: list[tuple[float, int]] = []
        self._chunks: list[bytes] = []
        self._size = 0

    @property
    def floods(self) -> bool:
        return self._size > FLOOD

    def take(self, chunk: bytes, now: float) -> bytes:
        """Keep it; what of it is the tool's own."""
        ours = min(self.filled, len(chunk))
        self.filled -= ours
        chunk = chunk[ours:]
        if chunk:
            self.first = now if self.first is None else self.first
            self._size += len(chunk)
            if not self.floods:
                self._chunks.append(chunk)
                self.arrivals.append((now, self._size))
        return chunk

    def stdout(self) -> bytes:
        return b"".join(self._chunks)[: KEPT if self.floods else None]


class SilentTerminal:
    """A pty whose other end is the tool's, and which does not answer."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self.output = bytearray()
        self._master, self.theirs = os.openpty()
        self._handed_over = False
        reactor.add_reader(self._master, self._took)

    def handed_over(self) -> None:
        """The tool has its end."""
        if not self._handed_over:
            os.close(self.theirs)
            self._handed_over = True

    def close(self) -> None:
        self._reactor.remove_reader(self._master)
        os.close(self._master)
        self.handed_over()

    def drain(self) -> None:
        """Take what was written right before the end."""
        os.set_blocking(self._master, False)
        while self._read():
            pass

    def _took(self) -> None:
        if not self._read():
            self._reactor.remove_reader(self._master)

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 4096)
        except (
            OSError
        ):  # EIO: no process has the other end open any more. EAGAIN: a process has, and is silent
            return False
        if len(self.output) < _TERMINAL_LIMIT:
            self.output += data
        return bool(data)
