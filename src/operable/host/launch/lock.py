"""One installation at a time, across processes: a lock of `state.lock` that can be stopped, and that says it waits.

The file stays: removing it would let two holders in.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from operable.kernel.errors import Fail
from operable.state.lock import EXCLUSIVE, held


@contextmanager
def exclusive(
    path: str,
    *,
    timeout: float,
    what: str,
    stop: threading.Event | None = None,
    on_wait: Callable[[], object] | None = None,
) -> Iterator[None]:
    """Hold the lock; `what` is named in the failure if it is not free in time. `on_wait` is called once, if at all."""
    waits = _Waits(what, stop or threading.Event(), on_wait)
    with ExitStack() as stack:
        try:
            stack.enter_context(held(path, EXCLUSIVE, wait=timeout, pause=waits))
        except TimeoutError:
            message = f"another process is {what}, and did not end in time"
            raise Fail("timeout", "LOCK_TIMEOUT", message) from None
        except OSError as error:
            raise Fail("io", "LOCK_UNUSABLE", f"cannot lock {path}: {error.strerror}", target=path) from error
        yield


class _Waits:
    """Called between two attempts at the lock."""

    def __init__(self, what: str, stop: threading.Event, on_wait: Callable[[], object] | None) -> None:
        self._what, self._stop, self._on_wait = what, stop, on_wait

    def __call__(self, seconds: float) -> None:
        if self._on_wait is not None:
            self._on_wait()
            self._on_wait = None
        if self._stop.wait(seconds):
            raise Fail("cancelled", "STOPPED", f"stopped while waiting: {self._what}")
