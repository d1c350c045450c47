"""What the keeper process does: it starts agents for its host, adopts whatever they leave, and ends all of it.

Theory of operation. Run by `keeper` as a process of its own, one per host. It is a subreaper, and so is the *stem* that it
forks for each session; the agent is the stem's child. Whatever the agent starts, however often it forks and whichever
sessions it makes, is therefore below the stem until it is dead, and the stem knows whose it is. A stem ends its tree when
its control socket closes or when the host's pidfd says that the host is gone: both are facts of the kernel, so kill -9 of
the host changes nothing. The keeper itself kills what is left of a stem that somebody killed.

Forked, not executed: a stem shares the interpreter's pages with the keeper and costs about half a megabyte of its own.
Nothing here is imported by the host, and only the standard library is imported here.

    host -> keeper   one datagram per start: descriptors of (what to run, control socket, stdin, stdout, stderr)
    stem -> host     "started PID", or "failed ERRNO"; later "exited STATUS LEFT", and "gone"
    host -> stem     "signal N", for everything that lives below; closing the socket: end it all
"""

import array
import ctypes
import errno
import gc
import marshal
import os
import select
import signal
import socket
import subprocess
import time

from operable.proc.tree import living, signal_tree

_SET_PDEATHSIG = 1
_SET_NAME = 15
_SET_CHILD_SUBREAPER = 36
# After the host's death nobody waits for last words; the warden's grace, for the same reason.
GRACE = 1.0
# How often what does not die of SIGKILL at once is looked at: fork bombs, uninterruptible sleep.
_AGAIN = 0.005
_PATIENCE = 10.0
_DESCRIPTORS = 5

_LIBC = ctypes.CDLL(None, use_errno=True)


def main(host: int, requests_fd: int) -> None:
    """Serve until the host is gone, then until everything below is gone."""
    _become(b"operable-keeper")
    gone = _pidfd(host)
    if os.getppid() != host:
        return  # it died before we looked; nothing was started
    requests = socket.socket(fileno=requests_fd)
    noticed = _notice_children()
    stems: set[int] = set()
    gc.freeze()  # what exists now is never freed: stems need not touch (and so copy) its pages
    watched = [requests.fileno(), noticed, *gone]
    while True:
        ready = _wait(watched, None)
        if noticed in ready:
            _drain(noticed)
            _bury(stems)
        if requests.fileno() in ready and not _serve(requests, stems, noticed, gone):
            break
        if not gone.isdisjoint(ready):
            break
    _end_all(stems, noticed)


def _serve(requests: socket.socket, stems: set[int], noticed: int, gone: set[int]) -> bool:
    """Fork a stem for one request; False: the host has closed its end."""
    size = array.array("i").itemsize * _DESCRIPTORS
    data, ancillary, _, _ = requests.recvmsg(16, socket.CMSG_SPACE(size))
    if not data:
        return False
    fds = array.array("i")
    for _, _, payload in ancillary:
        fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    if len(fds) == _DESCRIPTORS:
        pid = os.fork()
        if pid == 0:
            try:
                requests.close()
                os.close(noticed)
                _Stem(list(fds), gone).run()
            finally:
                os._exit(0)  # whatever happened: never back into the keeper's loop
        stems.add(pid)
    for fd in fds:
        os.close(fd)
    return True


def _bury(stems: set[int]) -> None:
    """Reap. A child that is no stem was adopted from a stem that somebody killed: it has no owner any more."""
    before = len(stems)
    stems -= set(_reaped())
    if len(stems) < before:
        for member in living(os.getpid()):
            if member.generation == 1 and member.pid not in stems:
                signal_tree(member.pid, signal.SIGKILL)
                _kill(member.pid)


def _end_all(stems: set[int], noticed: int) -> None:
    """Stems end their trees by themselves; what is still there when they had their time is killed by us."""
    deadline = time.monotonic() + GRACE + _PATIENCE
    while living(os.getpid()):
        _wait([noticed], 0.1)
        _drain(noticed)
        _bury(stems)
        if time.monotonic() > deadline:
            signal_tree(os.getpid(), signal.SIGKILL)


class _Stem:
    """One session: the agent, and everything below it."""

    def __init__(self, fds: list[int], gone: set[int]) -> None:
        request, control, *self.pipes = fds
        self.control = socket.socket(fileno=control)
        self.gone = gone
        self.noticed = _notice_children()
        _become(b"operable-stem")
        with open(request, "rb") as file:
            self.executable, self.argv, self.env, self.cwd, self.enclosure = marshal.loads(file.read())  # noqa: S302 - from our host
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
        for fd in self.pipes:
            os.close(fd)
        self._tell(f"started {self.leader}")
        while self.leader is not None or living(os.getpid()):
            self._step()
        self._tell("gone")

    def _start(self) -> subprocess.Popen[bytes]:
        stdin, stdout, stderr = self.pipes
        return subprocess.Popen(
            self.argv,
            executable=self.executable,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=self.env,
            cwd=self.cwd,
            start_new_session=True,
            # Safe here: this process has one thread.
            preexec_fn=_die_with_parent,  # noqa: PLW1509
        )

    def _step(self) -> None:
        watched = (
            [self.noticed] if self.ending is not None else [self.control.fileno(), self.noticed, *self.gone]
        )
        ready = _wait(watched, self._timeout())
        if self.noticed in ready:
            _drain(self.noticed)
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
        status = _reaped().get(self.leader or 0)
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
            return  # nobody listens any more; the next look at the socket says so


def _reaped() -> dict[int, int]:
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


def _become(name: bytes) -> None:
    _LIBC.prctl(_SET_NAME, name, 0, 0, 0)
    if _LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        # A handler, not SIG_IGN: what is ignored stays ignored in the agent, what is handled is back at its default.
        signal.signal(number, _stay)


def _stay(*_: object) -> None:
    """Only the end of the host ends us."""


def _die_with_parent() -> None:
    _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _notice_children() -> int:
    """A descriptor that becomes readable when a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _stay)
    return reading


def _wait(fds: list[int], timeout: float | None) -> set[int]:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return {fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000)}


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 512):
            pass
    except BlockingIOError:
        return


def _pidfd(pid: int) -> set[int]:
    """Readable when the process is gone. Without pidfds the closing of the sockets has to do."""
    try:
        return {os.pidfd_open(pid)}
    except OSError:
        return set()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
