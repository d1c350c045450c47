"""The host's ends of a child's pipes, on a reactor: `PipeReader` reads what the child writes, `Inlet` writes what it reads.

Back-pressure is the whole point. A paused outlet leaves the bytes in the kernel's pipe, where the child blocks once it is
full. An inlet reports how much it still buffers (`backlog`) and when it is empty again, so that its source can be paused.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from operable.proc.reactor import Reactor
else:
    try:
        from _collections import deque
    except ImportError:  # not CPython
        from collections import deque

# The capacity of a Linux pipe: one read takes all there can be. Larger reads (and larger pipes) were measured no faster.
CHUNK = 64 * 1024


class PipeReader:
    """Reads one descriptor: `on_chunk` for each read, `on_close` once, at end of file or `close`."""

    def __init__(
        self, reactor: Reactor, fd: int, on_chunk: Callable[[bytes], object], on_close: Callable[[], object]
    ) -> None:
        self._reactor = reactor
        self._fd: int | None = fd
        self._on_chunk = on_chunk
        self._on_close = on_close
        self._reading = False
        self.total = 0
        self.resume()

    @property
    def closed(self) -> bool:
        return self._fd is None

    @property
    def waiting(self) -> int:
        """How many bytes are in the pipe now, not yet read."""
        if self._fd is None:
            return 0
        (count,) = struct.unpack("i", fcntl.ioctl(self._fd, termios.FIONREAD, b"\0\0\0\0"))
        return int(count)

    def pause(self) -> None:
        if self._fd is not None and self._reading:
            self._reactor.remove_reader(self._fd)
            self._reading = False

    def resume(self) -> None:
        if self._fd is not None and not self._reading:
            self._reactor.add_reader(self._fd, self._ready)
            self._reading = True

    def close(self) -> None:
        if self._fd is not None:
            self.pause()
            os.close(self._fd)
            self._fd = None
            self._on_close()

    def _ready(self) -> None:
        if self._fd is None or not self._reading:
            return
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self.total += len(chunk)
            self._on_chunk(chunk)
        else:
            self.close()


class Inlet:
    """Writes to one descriptor what it is given, in order. A reader that goes away ends it: `broken`, never an exception."""

    def __init__(self, reactor: Reactor, fd: int) -> None:
        self._reactor = reactor
        self._fd: int | None = fd
        self._pending: deque[memoryview] = deque()
        self._finishing = False
        self._watching = False
        # Set by a caller that writes more than one piece: all is written; the reader has gone away.
        self.on_drain: Callable[[], object] | None = None
        self.on_break: Callable[[], object] | None = None
        self.backlog = 0
        self.broken = False

    @property
    def closed(self) -> bool:
        return self._fd is None

    @property
    def waiting(self) -> int:
        """How many pieces wait."""
        return len(self._pending)

    def write(self, data: bytes) -> None:
        """Take the bytes; what does not fit into the pipe now waits in `backlog`. Ignored once broken or closed."""
        if self._fd is None or self._finishing or not data:
            return
        self._pending.append(memoryview(data))
        self.backlog += len(data)
        if not self._watching:
            self._flush()

    def finish(self) -> None:
        """Close the pipe when everything given so far is written: the child then reads end of file."""
        self._finishing = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Close now; what was not written is dropped."""
        if self._fd is None:
            return
        self._unwatch()
        os.close(self._fd)
        self._fd = None
        self._pending.clear()

    def abandon(self) -> None:
        """The reader is gone, as far as the owner knows from elsewhere: same as finding it out by writing."""
        if self._fd is not None:
            self._break()

    def _flush(self) -> None:
        try:
            while self._pending and self._fd is not None:
                head = self._pending[0]
                written = os.write(self._fd, head)
                self.backlog -= written
                if written < len(head):
                    self._pending[0] = head[written:]
                else:
                    self._pending.popleft()
        except BlockingIOError:
            self._watch()
            return
        except (BrokenPipeError, ConnectionResetError):
            self._break()
            return
        self._unwatch()
        if self._finishing:
            self.close()
        elif self.on_drain is not None:
            self.on_drain()

    def _break(self) -> None:
        self.broken = True
        self.close()
        if self.on_break is not None:
            self.on_break()

    def _watch(self) -> None:
        if not self._watching and self._fd is not None:
            self._reactor.add_writer(self._fd, self._flush)
            self._watching = True

    def _unwatch(self) -> None:
        if self._watching and self._fd is not None:
            self._reactor.remove_writer(self._fd)
            self._watching = False
