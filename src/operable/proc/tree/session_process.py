"""One session below the keeper: it starts the agent, adopts whatever the agent leaves, and ends all of it.

A stem is a fork of the keeper and a subreaper: see `keeper_process` for why and for what is said on its control socket.
It has one thread and no event loop: it waits for its control socket, for the end of a child, and for the end of the
host.
"""

import ctypes
import errno
import marshal
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable

from operable.proc.sandbox.entry import Entrance, SandboxEntry
from operable.proc.tree.descendants import living, signal_tree

_SET_PDEATHSIG = 1
_SET_DUMPABLE = 4
_SET_NAME = 15
_SET_CHILD_SUBREAPER = 36
# After the host's death no process waits for the last output; the warden's grace, for the same reason.
GRACE = 1.0
# How often what does not die of SIGKILL at once is looked at: fork bombs, uninterruptible sleep.
_AGAIN = 0.005

_LIBC = ctypes.CDLL(None, use_errno=True)


class Stem:
    """One session: the agent, and everything below it."""

    def __init__(self, fds: list[int], gone: set[int]) -> None:
        request, control, *self.pipes = fds
        self.control = socket.socket(fileno=control)
        self.gone = gone
        self.noticed = notice_children()
        become(b"operable-stem")
        with open(request, "rb") as file:
            wanted = marshal.loads(file.read())  # noqa: S302 - from our host
        self.executable, self.argv, self.env, self.cwd, self.enclosure, entry = wanted
        self.entry = None if entry is None else SandboxEntry(*entry)
        self.leader: int | None = None
        self.ending: float | None = None  # when SIGKILL is due
        self.killing = False

    def run(self) -> None:
        try:
            # Kept, because a Popen that is collected reaps its process; the end is taken by `_reaped`.
            self.process = self._start()
            self.leader = self.process.pid
        except OSError as problem:
            self._tell(f"failed {problem.errno or errno.EAGAIN}")
            return
        except subprocess.SubprocessError:
            self._tell(f"failed {errno.EAGAIN}")
            return
        except (
            ValueError
        ):  # words that have no bytes; `prepare` refuses them, and a Command can be made without it
            self._tell(f"failed {errno.EILSEQ}")
            return
        close_all(self.pipes)
        self.env = {}  # not needed any more, and it may contain secrets
        self._tell(f"started {self.leader}")
        while self.leader is not None or living(os.getpid()):
            self._step()
        self._tell("gone")

    def _start(self) -> subprocess.Popen[bytes]:
        if self.entry is None:
            return self._popen(self.argv, (), _die_with_parent)
        entrance = Entrance(self.entry)

        def enter() -> None:
            _die_with_parent()
            entrance()

        try:
            return self._popen(entrance.argv(self.argv), entrance.fds, enter)
        finally:
            entrance.close()

    def _popen(
        self, argv: tuple[str, ...], fds: tuple[int, ...], before: Callable[[], None]
    ) -> subprocess.Popen[bytes]:
        stdin, stdout, stderr = self.pipes
        return subprocess.Popen(
            argv,
            executable=self.executable,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=self.env,
            cwd=self.cwd,
            start_new_session=True,
            pass_fds=fds,
            # Safe here: this process has one thread.
            preexec_fn=before,  # noqa: PLW1509
        )

    def _step(self) -> None:
        watched = (
            [self.noticed] if self.ending is not None else [self.control.fileno(), self.noticed, *self.gone]
        )
        ready = wait(watched, self._timeout())
        if self.noticed in ready:
            drain(self.noticed)
            self._reap()
        if not self.gone.isdisjoint(ready):
            self._begin_end()
        elif self.control.fileno() in ready:
            self._obey()
        if self.killing or (self.ending is not None and time.monotonic() >= self.ending):
            self.killing = True
            signal_tree(os.getpid(), signal.SIGKILL)

    def _timeout(self) -> float | None:
        if self.killing:
            return _AGAIN
        return None if self.ending is None else max(0.0, self.ending - time.monotonic())

    def _obey(self) -> None:
        try:
            order = self.control.recv(64)
        except OSError:
            order = b""
        if not order:
            self._begin_end()
            return
        number = int(order.split()[1])
        if number == signal.SIGKILL:
            self.killing = True
        else:
            signal_tree(os.getpid(), number, below=self.enclosure)

    def _begin_end(self) -> None:
        if self.ending is None:
            self.ending = time.monotonic() + GRACE
            signal_tree(os.getpid(), signal.SIGTERM, below=self.enclosure)

    def _reap(self) -> None:
        status = reaped().get(self.leader or 0)
        if status is None:
            return
        if self.enclosure:
            # The sandbox is gone and takes its inside with it; not one of those is a leftover to be asked politely.
            signal_tree(os.getpid(), signal.SIGKILL)
        left = 0 if self.enclosure else len(living(os.getpid()))
        self.leader = None
        self._tell(f"exited {status} {left}")

    def _tell(self, message: str) -> None:
        try:
            self.control.send(message.encode())
        except OSError:
            return  # no process listens any more; the next look at the socket says so


def reaped() -> dict[int, int]:
    """Status (as subprocess gives it) of every child that has ended."""
    found: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found[pid] = os.waitstatus_to_exitcode(status)


def become(name: bytes) -> None:
    _LIBC.prctl(_SET_NAME, name, 0, 0, 0)
    _LIBC.prctl(_SET_DUMPABLE, 0, 0, 0, 0)  # what is started may have secrets in its environment
    if _LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        # A handler, not SIG_IGN: what is ignored stays ignored in the agent, what is handled is back at its default.
        signal.signal(number, _stay)


def _stay(*_: object) -> None:
    """Only the end of the host ends us."""


def _die_with_parent() -> None:
    _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def notice_children() -> int:
    """A descriptor that becomes readable when a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _stay)
    return reading


def wait(fds: list[int], timeout: float | None) -> set[int]:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return {fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000)}


def drain(fd: int) -> None:
    try:
        while os.read(fd, 512):
            pass
    except BlockingIOError:
        return


def close_all(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)
