"""Protocol lines on their way out: whole lines, from any thread, and no wait that cannot be ended.

A line goes out in pieces that a pipe with any room takes without blocking. A host that does not read makes the
writer wait, which is how a model is slowed down that says more than its host can take; but once the process is asked
to end (`hurry`), the wait also ends. `on_gone` is called once when the host is gone.
"""

import os
import select
import threading
import time
from collections.abc import Callable

_PIECE = select.PIPE_BUF  # a pipe that is writable has room for as much
_LOOK = 0.1  # seconds; how soon a blocked writer notices that it should hurry
_PATIENCE = 1.0  # seconds; for the last words to a host that does not read


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
