"""One way to stop what is under way: a flag, and the things that must be woken to notice it.

Whatever blocks (a model's stream, a tool's process, a wait for approval) registers how it can be woken, and
unregisters when it is done. `cancel` may come from any thread; each waker is called once, at once when it is already
too late.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancelled(Exception):  # noqa: N818 - a fact, not a fault
    """The work was stopped on request."""


class Cancellation:
    """Shared by everything that belongs to one run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wakers: dict[int, Callable[[], None]] = {}
        self._next = 0
        self.cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            wakers = list(self._wakers.values())
            self._wakers.clear()
        for wake in wakers:
            wake()

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """While the body runs, `cancel` calls `wake`; called at once when the run was already cancelled."""
        with self._lock:
            late = self.cancelled
            key = self._next
            self._next += 1
            if not late:
                self._wakers[key] = wake
        if late:
            wake()
        try:
            yield
        finally:
            with self._lock:
                self._wakers.pop(key, None)
