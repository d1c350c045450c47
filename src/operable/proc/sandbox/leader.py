"""The end of the command inside an enclosure, seen from outside, because its first process can be kept from reporting it.

Bubblewrap's first process in the namespace waits for the command and informs the monitor outside. A program inside that can
trace or stop that process, or that traces the command itself, holds the report back, and a caller that waits for the
monitor waits forever. `LeaderWatch` finds the command from the host's side and holds a pidfd of it, which no tracer can
keep from becoming readable. When the command has ended and the monitor has not followed within `GRACE`, the namespace is
killed.

It does not judge a command that runs on: that is for the deadline of the caller.
"""

import os
import signal
from collections.abc import Callable

from operable.proc.reactor import Reactor, Timer

# The report takes less than a millisecond; a machine that swaps takes seconds.
GRACE = 5.0
# Most commands have ended before the first look, and cost nothing. The next looks come at twice the time, up to a second.
_FIRST_LOOK, _LAST_LOOK = 0.25, 1.0


class LeaderWatch:
    """Watches until `close`. `on_frozen` is called once, after the namespace was killed."""

    def __init__(self, reactor: Reactor, monitor: int, on_frozen: Callable[[], object]) -> None:
        self._reactor, self._monitor, self._on_frozen = reactor, monitor, on_frozen
        self._init: int | None = None
        self._leader: int | None = None
        self._reading = False
        self._interval = _FIRST_LOOK
        self._timer: Timer | None = reactor.call_later(self._interval, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._stop_reading()
        for fd in (self._init, self._leader):
            if fd is not None:
                os.close(fd)
        self._init = self._leader = None

    def _look(self) -> None:
        """Take hold of both. Children are listed oldest first: the command is the first that the first process has."""
        self._timer = None
        first = children(self._monitor)[:1]
        below = children(first[0])[:1] if first else []
        held = [_pidfd(pid) for pid in (*first, *below)]
        # A number is looked up and opened in two steps: what was opened must still be what was looked up.
        same = below and children(self._monitor)[:1] == first and children(first[0])[:1] == below
        if len(held) == 2 and None not in held and same:
            self._init, self._leader = held
            self._reading = True
            self._reactor.add_reader(held[1] or 0, self._ended)
            return
        for fd in held:
            if fd is not None:
                os.close(fd)
        self._interval = min(self._interval * 2, _LAST_LOOK)
        self._timer = self._reactor.call_later(self._interval, self._look)

    def _ended(self) -> None:
        self._stop_reading()
        self._timer = self._reactor.call_later(GRACE, self._kill)

    def _kill(self) -> None:
        self._timer = None
        if self._init is not None:
            try:
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # it has ended meanwhile; or it is another user's, and the ladder of the caller goes on
        self._on_frozen()

    def _stop_reading(self) -> None:
        if self._reading and self._leader is not None:
            self._reading = False
            self._reactor.remove_reader(self._leader)


def children(pid: int) -> list[int]:
    """Of a process with one thread, oldest first; empty when it has ended, or if the kernel does not report it."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
