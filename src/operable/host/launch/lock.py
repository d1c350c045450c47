"""One at a time, across processes: an exclusive lock on a file, waited for with a limit.

The kernel frees the lock when its holder dies, however it dies. The file stays: removing it would let two holders in.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from operable.kernel.errors import Fail

# Short against any installation, long enough not to be noticed as load.
_LOOK_INTERVAL = 0.1


@contextmanager
def exclusive(
    path: str,
    *,
    timeout: float,
    what: str,
    stop: threading.Event | None = None,
    on_wait: Callable[[], object] | None = None,
) -> Iterator[None]:
    """Hold the lock; `what` is named in the failure when it cannot be had in time. `on_wait` is called once, if at all."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise Fail("io", "LOCK_UNUSABLE", f"cannot lock {path}: {problem.strerror}", target=path) from problem
    try:
        _take(fd, timeout, what, stop or threading.Event(), on_wait)
        yield
    finally:
        os.close(fd)


def _take(
    fd: int, timeout: float, what: str, stop: threading.Event, on_wait: Callable[[], object] | None
) -> None:
    deadline = time.monotonic() + timeout
    told = False
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not told and on_wait is not None:
                on_wait()
            told = True
        if time.monotonic() >= deadline:
            raise Fail("timeout", "LOCK_TIMEOUT", f"{what} is being done elsewhere and did not end in time")
        if stop.wait(_LOOK_INTERVAL):
            raise Fail("cancelled", "STOPPED", f"stopped while waiting: {what}")
