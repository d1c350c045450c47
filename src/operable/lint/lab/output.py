"""What a run prints, as it comes: on stdout with the time of each piece, and on a terminal that does not answer.

It keeps what is worth looking at and counts the rest. When a tool is to be stopped for what it prints, and when its stream
has begun, is decided by `trial`.

`fill` and `Patience` are a reader that stalls.
"""

from __future__ import annotations

import fcntl
import os

from operable.lint.lab.processes import Waiting
from operable.proc.reactor import Reactor

# A tool that prints more for a sample call is flooding; of that, so much is kept as is worth looking at.
FLOOD = 16 * 1024 * 1024
KEPT = 64 * 1024
_TERMINAL_LIMIT = 1024 * 1024
# A process that has not run for so many seconds waits for us.
QUIET = 0.3
# So long the signal has the tool for itself before reading begins, so that it finds the tool waiting, not on its way again.
HEAD_START = 0.2
# A tool that has neither waited nor ended when so much of its time is over is not going to. The rest is for its end. A fixed
# number of seconds would be over, on a slow machine, before the tool has written what its reader lets it wait for.
GIVE_UP = 0.8
LOOK = 0.02
_SMALLEST = 4096


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


# A reader that stalls: how to catch a tool in the middle of its stream, however fast it is.
# The pipe to the tool's stdout is made as small as the system allows and filled except for a little room, before the
# tool starts. So its first line fits in and the next does not: the tool waits in that write, for as long as we like,
# and a signal or the end of the reader reaches it there. After a signal the pipe is read again: a process can still
# write its last message. What we filled in is thrown away.
# A tool that writes all of its stream at once waits in its only write, and one that asks for room before it writes
# waits before its first line. The kernel shows that a tool waits (it is in that write), or by time: nothing in the
# sandbox has run, and nothing has been written, for a while.
def fill(pid: int, room: int) -> int:
    """Leave so many bytes of room in the pipe that is the stdout of this process; how many were filled in."""
    try:
        pipe = os.open(f"/proc/{pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        size: int = fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _SMALLEST)
        return os.write(pipe, b"\n" * max(1, size - room))
    except OSError:
        return 0
    finally:
        os.close(pipe)


class Patience:
    """Decides from one look after the other whether the tool waits for its reader."""

    def __init__(self, now: float, timeout: float) -> None:
        """`timeout`: the seconds that the tool has from now to its deadline."""
        self._since = now
        self._end = now + timeout * GIVE_UP
        self._held = -1
        self._was_writing = False

    def waits(self, held: int, found: Waiting, now: float) -> bool:
        """`held`: bytes in the pipe. True when it is in a write for the second time in a row, or idle for long enough."""
        if held != self._held or not found.idle:
            self._held, self._since = held, now
        certain = found.writing and self._was_writing
        self._was_writing = found.writing
        return certain or now - self._since >= QUIET

    def over(self, now: float) -> bool:
        return now >= self._end
