"""A process group as something to supervise: signals for all of it, whether a process is left, how its leader ended.

`Group` holds a leader that we started ourselves. Its end is noticed through a pidfd, if the system has them, without
reaping it. So its number, which is the group's, stays taken until no process needs to be signalled any more.
"""

from __future__ import annotations

import os
import time

from operable.proc.tree.warden import WARDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from operable.proc.fork import RestrictedProcess
    from operable.proc.reactor import Reactor

    # What was started in one of two ways (`spawn`).
    Process = subprocess.Popen[bytes] | RestrictedProcess

# Only where there is no pidfd (macOS, Linux before 5.3): how often the leader is asked whether it has ended.
POLL_INTERVAL = 0.02

_PROC = "/proc"
_SIGKILL = 9
_REAP, _LOOK = 1.0, 0.002
# Leaders that SIGKILL had not ended when we stopped waiting: a busy machine takes seconds to end a namespace. They are
# reaped when the next group is released; thrown away before, each would make Python complain that it is still running.
_UNREAPED: list[Process] = []


class Group:
    """The leader of a process group, and the processes that follow it. The twin of `keeper.Tree`."""

    def __init__(self, process: Process) -> None:
        self.pid = process.pid
        self.process = process
        self.status: int | None = None
        self._pidfd: int | None = None
        self._reactor: Reactor | None = None
        self._watching = False

    @property
    def exited(self) -> bool:
        """Has the leader ended? Without reaping it."""
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def watch(self, reactor: Reactor, on_exit: Callable[[], object]) -> None:
        """Call once, when the leader has ended."""
        self._reactor = reactor
        self._watching = True
        self._pidfd = _pidfd(self.pid)

        def look() -> None:
            if self._watching and self.exited:
                self._unwatch()
                on_exit()

        def poll() -> None:
            look()
            if self._watching:
                reactor.call_later(POLL_INTERVAL, poll)

        if self._pidfd is None:
            reactor.call_later(0.0, poll)
        else:
            reactor.add_reader(self._pidfd, look)

    def signal(self, number: int) -> None:
        signal_group(self.pid, number)

    def alive(self) -> bool:
        return group_alive(self.pid)

    def reap(self) -> None:
        if not _waitable(self.process):
            self.status = None
            return
        # It is a zombie: this ends at once. The time limit is for one that is not.
        until = time.monotonic() + _REAP
        while (status := self.process.poll()) is None and time.monotonic() < until:
            time.sleep(_LOOK)
        self.status = status
        if status is None:
            _UNREAPED.append(self.process)

    def release(self) -> None:
        """No process is left in it."""
        self._unwatch()
        WARDEN.release(self.pid)
        for process in [process for process in _UNREAPED if process.poll() is not None]:
            try:
                _UNREAPED.remove(process)
            except ValueError:
                continue  # another thread was faster

    def abandon(self) -> None:
        """A process is left that SIGKILL does not end; the warden keeps the number in mind."""
        self._unwatch()
        if self.process.returncode is None:
            _UNREAPED.append(self.process)

    def abort(self) -> None:
        """Kill and reap now, without a reactor."""
        self.signal(_SIGKILL)
        self.reap()
        self._reactor = None
        self.release()

    def _unwatch(self) -> None:
        self._watching = False
        if self._pidfd is not None:
            if self._reactor is not None:
                self._reactor.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None


def signal_group(group: int, number: int) -> None:
    """Send a signal to every member. A group that is gone, or belongs to another user by now, is left alone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # No process to signal. EPERM: all members changed their user (a set-uid program); the ladder then gives up in time.
        return


def group_alive(group: int) -> bool:
    """Is there a member that still runs? To be asked after the leader was reaped (a zombie answers to signal 0)."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # In a container whose pid 1 does not reap, dead grandchildren stay zombies forever: they do not count as alive.
    return _has_living_member(group) if os.path.isdir(_PROC) else True


def _has_living_member(group: int) -> bool:
    for name in os.listdir(_PROC):
        if not name.isdecimal():
            continue
        try:
            with open(f"{_PROC}/{name}/stat", "rb") as file:
                # pid (name, which may contain blanks and brackets) state ppid pgrp ...
                state, _, member_of = file.read().rpartition(b") ")[2].split(None, 3)[:3]
        except OSError:
            continue  # it ended while we were looking
        if int(member_of) == group and state not in (b"Z", b"X"):
            return True
    return False


def _pidfd(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None  # an old kernel, or a sandbox that forbids the call: asking regularly works everywhere


def _waitable(process: Process) -> bool:
    """False when something else in the host has reaped it already (SIGCHLD ignored, a foreign wait): status unknown."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return True
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        process.poll()  # lets Popen know too, so that it does not complain when it is collected
        return False
    return True
