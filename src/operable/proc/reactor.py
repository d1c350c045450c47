"""What supervision needs of an event loop, and the smallest loop that has it.

`Reactor` is a subset of asyncio's loop, so `asyncio.get_running_loop()` (or uvloop's) is one as it is, and all process
logic is written once, as callbacks. `SelectorReactor` is for callers without a loop: importing asyncio would cost them
more than starting the tool. `Attendant` runs one in a thread, so that deadlines, stderr and stdin of a child are looked
after while its caller is busy with an event.
"""

from __future__ import annotations

import heapq
import os
import select
import time
from _thread import RLock  # `threading` costs a short call more than all of this

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections import deque
    from collections.abc import Callable
    from typing import Any, Protocol

    Callback = Callable[[], object]
else:
    Protocol = object
    try:
        from _collections import deque
    except ImportError:  # not CPython
        from collections import deque


_READ, _WRITE = select.POLLIN, select.POLLOUT  # epoll has the same numbers
# Seconds of one round: a selector takes no more than 2**31 milliseconds, and a deadline may be years away.
_LONGEST_ROUND = 86_400.0


class Timer(Protocol):
    def cancel(self) -> None: ...


class Reactor(Protocol):
    def time(self) -> float: ...
    def call_later(self, delay: float, callback: Callback, /) -> Timer: ...
    def call_soon_threadsafe(self, callback: Callback, /) -> object: ...
    def add_reader(self, fd: int, callback: Callback, /) -> object: ...
    def remove_reader(self, fd: int, /) -> object: ...
    def add_writer(self, fd: int, callback: Callback, /) -> object: ...
    def remove_writer(self, fd: int, /) -> object: ...


class _Scheduled:
    __slots__ = ("callback", "due", "order")

    def __init__(self, due: float, order: int, callback: Callback) -> None:
        self.due = due
        self.order = order
        self.callback: Callback | None = callback

    def __lt__(self, other: _Scheduled) -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        self.callback = None


class _Poll:
    """Descriptors with callbacks, on epoll where the system has it: `selectors` without what it imports."""

    def __init__(self) -> None:
        self._callbacks: dict[int, dict[int, Callback]] = {}
        self._epoll = hasattr(select, "epoll")
        self._poll: Any = select.epoll() if self._epoll else select.poll()

    def watch(self, fd: int, event: int, callback: Callback | None) -> None:
        known = fd in self._callbacks
        callbacks = self._callbacks.setdefault(fd, {})
        before = sum(callbacks)
        if callback is None:
            callbacks.pop(event, None)
        else:
            callbacks[event] = callback
        mask = sum(callbacks)
        if not mask:
            self._forget(fd, registered=known)
        elif not known:
            self._register(fd, mask)
        elif mask != before:
            self._poll.modify(fd, mask)

    def ready(self, patience: float | None) -> list[tuple[dict[int, Callback], int]]:
        """The callbacks of each descriptor on which something has happened, and what. They are taken now: a descriptor
        that is closed and opened again in this round gets nothing of the old one.
        """
        # Whole milliseconds, and never less than was asked for.
        milliseconds = None if patience is None else -int(-patience * 1000 // 1)
        timeout = milliseconds if milliseconds is None or not self._epoll else milliseconds / 1000
        found = self._poll.poll(timeout)
        for fd, flags in found:
            if flags & select.POLLNVAL:
                self._forget(fd, registered=True)  # closed behind our back
        return [(self._callbacks[fd], flags) for fd, flags in found if fd in self._callbacks]

    def close(self) -> None:
        self._callbacks.clear()
        if self._epoll:
            self._poll.close()

    def _register(self, fd: int, mask: int) -> None:
        try:
            self._poll.register(fd, mask)
        except BaseException:
            del self._callbacks[fd]
            raise

    def _forget(self, fd: int, *, registered: bool) -> None:
        self._callbacks.pop(fd, None)
        if registered:
            try:
                self._poll.unregister(fd)
            except (OSError, KeyError):
                return  # the kernel forgot it when it was closed


class SelectorReactor:
    """Callbacks on descriptors and times. Only `call_soon_threadsafe` may be called from another thread than `run`'s."""

    def __init__(self) -> None:
        self._poll = _Poll()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._timers: list[_Scheduled] = []
        self._count = 0
        self._soon: deque[Callback] = deque()
        # Re-entrant: a signal handler may cancel a call while the same thread is in the middle of waking the reactor.
        self._closing = RLock()
        self._closed = False
        self._poll.watch(self._wake_read, _READ, self._woken)

    def time(self) -> float:
        return time.monotonic()

    def call_later(self, delay: float, callback: Callback, /) -> Timer:
        self._count += 1
        timer = _Scheduled(self.time() + delay, self._count, callback)
        heapq.heappush(self._timers, timer)
        return timer

    def call_soon_threadsafe(self, callback: Callback, /) -> None:
        """Run the callback in the reactor's thread; nothing happens once the reactor is closed."""
        with self._closing:
            if self._closed:
                return
            self._soon.append(callback)
            try:
                os.write(self._wake_write, b"\0")
            except BlockingIOError:
                return  # it is full of wake-ups already

    def add_reader(self, fd: int, callback: Callback, /) -> None:
        self._poll.watch(fd, _READ, callback)

    def remove_reader(self, fd: int, /) -> None:
        self._poll.watch(fd, _READ, None)

    def add_writer(self, fd: int, callback: Callback, /) -> None:
        self._poll.watch(fd, _WRITE, callback)

    def remove_writer(self, fd: int, /) -> None:
        self._poll.watch(fd, _WRITE, None)

    def run(self, until: Callable[[], bool]) -> None:
        """Serve callbacks until the condition holds; it is asked after every round."""
        while not until():
            self._round()

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._poll.close()
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _round(self) -> None:
        for callbacks, flags in self._poll.ready(self._patience()):
            for event, other in ((_READ, _WRITE), (_WRITE, _READ)):
                # An earlier callback of this round may have removed a later one. An error is for both.
                if flags & ~other and event in callbacks:
                    callbacks[event]()
        while self._soon:
            self._soon.popleft()()
        now = self.time()
        while self._timers and (self._timers[0].callback is None or self._timers[0].due <= now):
            callback = heapq.heappop(self._timers).callback
            if callback is not None:
                callback()

    def _patience(self) -> float | None:
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        if self._soon:
            return 0.0
        if not self._timers:
            return None
        return min(max(0.0, self._timers[0].due - self.time()), _LONGEST_ROUND)

    def _woken(self) -> None:
        try:
            while os.read(self._wake_read, 4096):
                pass
        except BlockingIOError:
            return


class Attendant:
    """A thread that runs a reactor until its work is done."""

    def __init__(self) -> None:
        self.reactor = SelectorReactor()
        self._thread: threading.Thread | None = None

    def start(self, until: Callable[[], bool], on_crash: Callable[[BaseException], Any]) -> None:
        """Everything already registered is served from the new thread on. A bug in a callback is reported, not lost."""
        import threading

        thread = threading.Thread(
            target=self._run, args=(until, on_crash), name="operable-attendant", daemon=True
        )
        self._thread = thread
        thread.start()

    def join(self, timeout: float | None = None) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self, until: Callable[[], bool], on_crash: Callable[[BaseException], Any]) -> None:
        # Signals belong to the main thread: one delivered here would not wake it from waiting for an event. And a host may
        # have set SIGPIPE to its default: writing to a child that closed its stdin must be an error to handle, not its end.
        import signal

        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.reactor.run(until)
        except BaseException as error:  # noqa: BLE001 - handed to the waiting caller, which raises it
            on_crash(error)
        finally:
            self.reactor.close()
