"""The host's side of the keeper: whole process trees, supervised so that nothing survives the host, not even kill -9.

Theory of operation. The first tree of a host starts one keeper (`keeper_process`; about 30 ms, once), and every tree
costs one fork there. A `Tree` is the handle of one: its control socket reports the end of the leader and of the last
descendant, and takes signals for all descendants. When we or, after our death, the kernel close it, the keeper ends them
all.

Linux 5.3 and later (subreaper, pidfds). Elsewhere `missing` says why, and `spawn` falls back to a process group with a
warden, which cannot reach what makes a session of its own.
"""

from __future__ import annotations

import errno
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from operable.proc.command import PreparedCommand
    from operable.proc.reactor import Reactor

# A start takes 3 ms here; ten seconds are a machine that swaps.
_START_TIMEOUT = 10.0
_SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
_PROGRAM = (
    f"import sys; sys.path.insert(0, {_SOURCE!r}); "
    "from operable.proc.tree.keeper_process import main; main(int(sys.argv[1]), 0)"
)


def missing() -> str | None:
    """Why whole trees cannot be kept here; None: they can."""
    if not hasattr(os, "pidfd_open") or not hasattr(os, "memfd_create"):
        return "this system has no subreaper with pidfds (Linux 5.3 and later)"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return f"pidfd_open: {error.strerror}"
    return None if sys.executable else "the path of the Python interpreter is unknown"


class Tree:
    """One leader and all of its descendants, below a stem of the keeper. Methods belong to one thread."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self.pid = pid
        self._control: socket.socket | None = control
        self._status: int | None = None
        self._exited = False
        self._gone = False
        self._reactor: Reactor | None = None
        self._on_exit: Callable[[], object] | None = None

    @property
    def exited(self) -> bool:
        return self._exited

    @property
    def status(self) -> int | None:
        return self._status

    def watch(self, reactor: Reactor, on_exit: Callable[[], object]) -> None:
        self._reactor, self._on_exit = reactor, on_exit
        if self._control is not None:
            self._control.setblocking(False)
            reactor.add_reader(self._control.fileno(), self._ready)

    def signal(self, number: int) -> None:
        if self._control is None:
            return
        try:
            self._control.send(f"signal {int(number)}".encode())
        except OSError:
            return  # the stem has ended, or was killed: the next reading says so

    def alive(self) -> bool:
        return not self._gone

    def reap(self) -> None:
        """The stem has done it."""

    def release(self) -> None:
        """Release it. Whatever still lives is ended by the stem."""
        if self._control is None:
            return
        if self._reactor is not None:
            self._reactor.remove_reader(self._control.fileno())
        self._control.close()
        self._control = None

    abandon = release

    def abort(self) -> None:
        """End everything, without a reactor."""
        if self._control is not None:
            self.signal(signal.SIGKILL)
        self._reactor = None
        self.release()

    def _ready(self) -> None:
        while self._control is not None:
            try:
                message = self._control.recv(128).split()
            except BlockingIOError:
                return
            except OSError:
                message = []
            self._took(message)
            if not message:
                return

    def _took(self, message: list[bytes]) -> None:
        was_running = not self._exited
        if not message or message[0] == b"gone":
            # No message: the stem was killed; the keeper kills what it has left.
            self._exited = self._gone = True
        elif message[0] == b"exited":
            self._exited, self._status, self._gone = True, int(message[1]), int(message[2]) == 0
        if not message and self._reactor is not None and self._control is not None:
            self._reactor.remove_reader(self._control.fileno())
        if was_running and self._exited and self._on_exit is not None:
            self._on_exit()


class Keeper:
    """The one keeper of this host. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._folders: set[str] = set()
        self.pid: int | None = None

    def start(self, command: PreparedCommand, stdin: int, stdout: int, stderr: int) -> Tree:
        """Run the command below a stem. OSError when it cannot be executed, Fail when there is no keeper."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._request(command, theirs.fileno(), stdin, stdout, stderr)
            return Tree(ours, _started(ours))
        except BaseException:
            ours.close()
            raise

    def leave(self, folder: str) -> None:
        """Have a folder removed when this host is gone, however it goes. Nothing happens where there is no keeper."""
        if missing() is None:
            with self._lock:
                self._folders.add(folder)
                self._say(f"leave {folder}")

    def take(self, folder: str) -> None:
        """The folder is gone, or is to stay."""
        with self._lock:
            if folder in self._folders:
                self._folders.discard(folder)
                self._say(f"take {folder}")

    def forget(self) -> None:
        """In a fork of the host: the keeper belongs to the parent."""
        if self._requests is not None:
            self._requests.close()
        self._lock = threading.Lock()
        self._requests = self.pid = None
        self._folders = set()

    def _request(self, command: PreparedCommand, *fds: int) -> None:
        what = os.memfd_create("operable-command")
        try:
            with open(what, "wb", closefd=False) as file:
                file.write(
                    marshal.dumps(
                        (
                            *(command.executable, command.argv, dict(command.env), command.cwd),
                            *(command.enclosure, None if command.entry is None else tuple(command.entry)),
                        )
                    )
                )
            os.lseek(what, 0, os.SEEK_SET)
            with self._lock:
                self._say("start", [what, *fds])
        finally:
            os.close(what)

    def _say(self, what: str, fds: Sequence[int] = ()) -> None:
        try:
            self._send(what, fds)
        except OSError:
            self._drop()  # another process killed it; its stems go on, and a new one serves from now on
            self._send(what, fds)

    def _send(self, what: str, fds: Sequence[int]) -> None:
        if self._requests is None:
            self._requests = self._begin()
            for folder in self._folders:
                self._requests.send(f"leave {folder}".encode("utf-8", "surrogateescape"))
        socket.send_fds(self._requests, [what.encode("utf-8", "surrogateescape")], fds)

    def _begin(self) -> socket.socket:
        reason = missing()
        if reason is not None:
            raise Fail("config", "KEEPER_UNAVAILABLE", f"whole process trees cannot be kept: {reason}")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, str(os.getpid())],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.defpath},
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise Fail(
                    "temporary", "SPAWN_FAILED", f"cannot start the keeper: {error.strerror}"
                ) from error
        self.pid = process.pid
        process.returncode = 0  # it outlives us: no caller waits for it, and no warning may say so
        return ours

    def _drop(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self.pid is not None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass  # reaped by another thread
        self._requests = self.pid = None


def _started(control: socket.socket) -> int:
    """The leader's pid, once it runs."""
    waiting = select.poll()  # `select` knows no descriptor beyond 1023, and a host of many sessions has more
    waiting.register(control, select.POLLIN)
    if not waiting.poll(_START_TIMEOUT * 1000):
        raise Fail("temporary", "SPAWN_FAILED", f"the keeper did not answer within {_START_TIMEOUT:g} s")
    words = control.recv(128).split()
    if not words:
        raise Fail("temporary", "SPAWN_FAILED", "the keeper was killed while it started the command")
    number = int(words[1])
    if words[0] == b"failed":
        raise OSError(number, os.strerror(number or errno.EAGAIN))
    return number


KEEPER = Keeper()
os.register_at_fork(after_in_child=KEEPER.forget)
