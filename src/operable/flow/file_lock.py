"""The kernel's lock on a file beside what it guards: whoever dies lets go of it.

The lock is `flock`, asked for again and again until it is ours or patience ends (TimeoutError), because a blocked call could
not be ended. A lock whose file was removed meanwhile guards nothing: whoever comes next locks another file of that name. So
the file is looked at again once it is locked. Where the file system has no such locks (some network mounts), that is an
OSError: nobody goes on without one.
"""

import fcntl
import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

# Ours are held for milliseconds; half a minute is a hundred processes on a machine that swaps.
_PATIENCE, _POLL = 30.0, 0.01
EXCLUSIVE, SHARED = fcntl.LOCK_EX, fcntl.LOCK_SH


@contextmanager
def held(path: str, kind: int, opened: Callable[[str], AbstractContextManager[int]]) -> Iterator[int]:
    """The lock, for as long as this lasts. `opened` opens the file; it may make it."""
    ends = time.monotonic() + _PATIENCE
    while True:
        with opened(path) as fd:
            wait_until(functools.partial(_locked, fd, kind), ends)
            if _is_at(path, fd):
                yield fd
                return


def wait_until(done: Callable[[], bool], ends: float) -> None:
    """TimeoutError when it does not come true in time."""
    while not done():
        if time.monotonic() > ends:
            raise TimeoutError("somebody does not let go of it")
        time.sleep(_POLL)


def _locked(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: str, fd: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except FileNotFoundError:
        return False
