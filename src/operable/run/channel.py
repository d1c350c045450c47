"""From the reactor's thread to a waiting consumer: chunks, in order, never more than a few.

This is where back-pressure begins: a consumer that does not take leaves the chunks here, beyond HIGH_WATER the chain is
paused, its pipe fills, and the tool blocks in its write. A consumer that has left (`discard`) takes everything at once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from operable.run.chain import HIGH_WATER


class Channel:
    """The blocking one. `put`, `finish` and `fail` are the reactor's side, `take` and `discard` the consumer's."""

    def __init__(self) -> None:
        self.pause: Callable[[], object] = _nothing  # called in the reactor's thread
        self.resume: Callable[[], object] = _nothing  # called in the consumer's thread
        self.dropped = False  # something was thrown away after `discard`
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._discarding = False
        self._finished = False
        self._crash: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, chunk: bytes) -> None:
        with self._changed:
            if self._discarding:
                self.dropped = True
                return
            self._chunks.append(chunk)
            self._size += len(chunk)
            if self._size >= HIGH_WATER and not self._paused:
                self._paused = True
                self.pause()
            self._changed.notify()

    def finish(self) -> None:
        with self._changed:
            self._finished = True
            self._changed.notify()

    def fail(self, error: BaseException) -> None:
        """The reactor has crashed: a waiting caller must not wait forever."""
        with self._changed:
            self._crash = error
            self._finished = True
            self._changed.notify()

    def take(self) -> bytes | None:
        """The next chunk; None when there will be no more. Waits; the deadline of the call bounds the wait."""
        with self._changed:
            while not self._chunks and not self._finished:
                self._changed.wait()
            if self._crash is not None:
                crash, self._crash = self._crash, None
                raise crash
            if not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self._size -= len(chunk)
            if self._paused and not self._chunks:
                self._paused = False
                self.resume()
            return chunk

    def discard(self) -> None:
        """Take no more: what is here stays to be taken, what comes is thrown away, and nothing is paused any longer."""
        with self._changed:
            self._discarding = True
            self._paused = False
        self.resume()


class AsyncChannel:
    """The same for a consumer on the reactor's own loop, where nothing runs at the same time."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self.pause: Callable[[], object] = _nothing
        self.resume: Callable[[], object] = _nothing
        self.dropped = False
        self.finished = False
        self._wake = wake
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._discarding = False

    @property
    def ready(self) -> bool:
        return bool(self._chunks) or self.finished

    def put(self, chunk: bytes) -> None:
        if self._discarding:
            self.dropped = True
            return
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size >= HIGH_WATER and not self._paused:
            self._paused = True
            self.pause()
        self._wake()

    def finish(self) -> None:
        self.finished = True
        self._wake()

    def take(self) -> bytes | None:
        """The next chunk, when `ready`; None when there will be no more."""
        if not self._chunks:
            return None
        chunk = self._chunks.popleft()
        self._size -= len(chunk)
        if self._paused and not self._chunks:
            self._paused = False
            self.resume()
        return chunk

    def discard(self) -> None:
        self._discarding = True
        self._paused = False
        self.resume()


def _nothing() -> None:
    return
