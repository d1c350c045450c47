"""What supervision needs of an event loop, and the smallest loop that has it.

`Reactor` is a subset of asyncio's loop, so `asyncio.get_running_loop()` (or uvloop's) is one as it is, and all process
logic is written once, as callbacks. `SelectorReactor` is for callers without a loop: importing asyncio would cost them
more than starting the tool. `Attendant` runs one in a thread, so that deadlines, stderr and stdin of a child are looked
after while its caller is busy with an event.
"""

from __future__ import annotations

import heapq
import os
import selectors
import signal
import threading
import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    Callback = Callable[[], object]
else:
    Protocol = object  # loading `typing` would cost a short call more than all of this


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


class SelectorReactor:
    """Callbacks on descriptors and times. Only `call_soon_threadsafe` may be called from another thread than `run`'s."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, {selectors.EVENT_READ: self._woken})
        self._timers: list[_Scheduled] = []
        self._count = 0
        self._soon: deque[Callback] = deque()
        # Re-entrant: a signal handler may cancel a call while the same thread is in the middle of waking the reactor.
        self._closing = threading.RLock()
        self._closed = False

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
        self._watch(fd, selectors.EVENT_READ, callback)

    def remove_reader(self, fd: int, /) -> None:
        self._watch(fd, selectors.EVENT_READ, None)

    def add_writer(self, fd: int, callback: Callback, /) -> None:
        self._watch(fd, selectors.EVENT_WRITE, callback)

    def remove_writer(self, fd: int, /) -> None:
        self._watch(fd, selectors.EVENT_WRITE, None)

    def run(self, until: Callable[[], bool]) -> None:
        """Serve callbacks until the condition holds; it is asked after every round."""
        while not until():
            self._round()

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._selector.close()
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _round(self) -> None:
        for key, events in self._selector.select(self._patience()):
            callbacks: dict[int, Callback] = key.data
            for event in (selectors.EVENT_READ, selectors.EVENT_WRITE):
                # An earlier callback of this round may have removed a later one.
                if events & event and event in callbacks:
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

    def _watch(self, fd: int, event: int, callback: Callback | None) -> None:
        key = self._selector.get_map().get(fd)
        callbacks: dict[int, Callback] = key.data if key else {}
        if callback is None:
            callbacks.pop(event, None)
        else:
            callbacks[event] = callback
        mask = sum(callbacks)
        if key is None:
            if mask:
                self._selector.register(fd, mask, callbacks)
        elif not mask:
            self._selector.unregister(fd)
        elif mask != key.events:
            self._selector.modify(fd, mask, callbacks)

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
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.reactor.run(until)
        except BaseException as error:  # noqa: BLE001 - handed to the waiting caller, which raises it
            on_crash(error)
        finally:
            self.reactor.close()
