"""The kernel's locks on files: released by the kernel when their process ends, in whatever way it ends.

`held` is an exclusive or shared lock on a file beside what it guards; `acquire` is the same without an end, for a lock that
lasts as long as its descriptor. They ask again and again until the lock is ours or the wait ends (TimeoutError), because a
blocked call could not be ended. A lock whose file was removed meanwhile guards nothing, so the file is compared with its
name once it is locked. A file system without locks is an OSError: no caller goes on without.

`create_locked` makes a file that is locked before it has its name: `is_locked` then says whether its maker still lives.

`Presence` answers "does the process that began number N still live?": the process holds byte N of a file (an open file
description lock). A process id would not do: it may belong to another process by now, or to another namespace.
"""

import fcntl
import functools
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from operable.state.atomic import move, open_private, opened

# Ours are held for milliseconds; half a minute is a hundred processes on a machine that swaps.
WAIT = 30.0
# The first looks come soon, because most locks are free within a millisecond.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.01
EXCLUSIVE, SHARED = fcntl.LOCK_EX, fcntl.LOCK_SH
# struct flock: type, whence, start, length, pid. The pid is 0 for locks that belong to an open file description.
_FLOCK = "hhqqi4x"


def _made(path: str) -> AbstractContextManager[int]:
    return opened(path, os.O_RDWR | os.O_CREAT)


@contextmanager
def held(
    path: str,
    kind: int,
    opened: Callable[[str], AbstractContextManager[int]] = _made,
    *,
    wait: float = WAIT,
    pause: Callable[[float], object] = time.sleep,
) -> Iterator[int]:
    """The lock, for as long as this lasts. `opened` opens the file; by default it is made if it is missing.

    `pause` waits a moment between two attempts; it may raise, for callers that want to give up earlier.
    """
    ends = time.monotonic() + wait
    while True:
        with opened(path) as fd:
            wait_until(functools.partial(_locked, fd, kind), ends, pause)
            if is_at(path, fd):
                yield fd
                return


def acquire(path: str, *, wait: float = 0.0) -> int:
    """A descriptor that has the exclusive lock until it is closed. Raises TimeoutError if another process has it."""
    with held(path, EXCLUSIVE, wait=wait) as fd:
        return os.dup(fd)  # the lock belongs to the open file, which both descriptors share


def create_locked(path: str) -> int:
    """Make a file whose lock this process has before another process can find it; the descriptor that has the lock."""
    draft = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(4).hex()}")
    fd = open_private(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        move(draft, path, durable=False)  # a power cut ends the process also
    except OSError:
        os.close(fd)
        os.unlink(draft)
        raise
    return fd


def is_locked(path: str) -> bool:
    """Whether a process has the lock of this file. Raises FileNotFoundError if there is no such file."""
    with opened(path, os.O_RDONLY) as fd:
        return not _locked(fd, EXCLUSIVE)


def wait_until(done: Callable[[], bool], ends: float, pause: Callable[[float], object] = time.sleep) -> None:
    """Raises TimeoutError if it does not come true in time."""
    length = _FIRST_PAUSE
    while not done():
        if time.monotonic() >= ends:
            raise TimeoutError("another process does not release it")
        pause(length)
        length = min(2 * length, _LONGEST_PAUSE)


def _locked(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(path: str, fd: int) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


class Presence:
    """The numbers that this process holds in one file. All users of a file in a process share one of these."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd: int | None = None
        self._numbers: set[int] = set()
        self._mutex = threading.Lock()

    def hold(self, number: int) -> None:
        """Raises OSError if the file cannot be locked."""
        with self._mutex:
            self._open()
            assert self._fd is not None  # noqa: S101 - just opened
            _set(self._fd, number, fcntl.F_WRLCK)
            self._numbers.add(number)

    def release(self, number: int) -> None:
        with self._mutex:
            if number not in self._numbers or self._fd is None:
                return
            self._numbers.discard(number)
            with suppress(OSError):
                _set(self._fd, number, fcntl.F_UNLCK)
            if not self._numbers:
                self.drop()

    def drop(self) -> None:
        """Release the file: nothing is held, or this is a fork, whose parent holds it."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None
        self._numbers.clear()

    def _open(self) -> None:
        if self._fd is not None and is_at(self._path, self._fd):
            return
        # Also when the file was removed: other processes would look for our numbers in the new one.
        fd = open_private(self._path, os.O_RDWR | os.O_CREAT)
        try:
            for number in self._numbers:
                _set(fd, number, fcntl.F_WRLCK)
        except OSError:
            os.close(fd)
            raise
        if self._fd is not None:
            os.close(self._fd)
        self._fd = fd


def is_held(path: str, number: int) -> bool | None:
    """Whether a living process holds this number. Returns None if that cannot be known."""
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return None
    try:
        with opened(path, os.O_RDONLY) as fd:
            asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
            answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, asked)
    except OSError:
        return (
            None  # also if the file was removed: its locks are still held, and no other process can see them
        )
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)


def _set(fd: int, number: int, kind: int) -> None:
    if hasattr(
        fcntl, "F_OFD_SETLK"
    ):  # elsewhere than on Linux, nothing says who lives: `is_held` returns None
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, number, 1, 0))


_PRESENCES: dict[str, Presence] = {}
_PRESENCES_MUTEX = threading.Lock()


def presence(path: str) -> Presence:
    """The presence of this process in a file."""
    with _PRESENCES_MUTEX:
        return _PRESENCES.setdefault(os.path.abspath(path), Presence(path))


def _forget_in_fork() -> None:
    """A fork shares the parent's locks as long as it keeps the descriptors: they would outlive the parent."""
    for each in _PRESENCES.values():
        each.drop()
    _PRESENCES.clear()


os.register_at_fork(after_in_child=_forget_in_fork)
