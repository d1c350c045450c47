"""The one helper thread of a running tool: late lines, deadlines, heartbeats, readers that left.

It exists so that the main thread can sit in the author's code for as long as it likes while a buffered line still
goes out in time, a deadline still holds, an unbounded stream still shows that it lives, and a closed pipe is noticed
without writing. It never waits for the reader, or it could not hold anything while the reader sleeps. It is started
with `_thread` (importing `threading` costs more than starting the thread) and waits on one lock.
"""

import os
from _thread import allocate_lock, start_new_thread
from time import monotonic, sleep

from operable.kernel.errors import EX_TIMEOUT
from operable.tool.interrupt import APPLY_GRACE, GRACE, OUTPUT_LOST, TIMEOUT, Interrupts, StopReason
from operable.tool.process import resume_collection
from operable.tool.writer import LATEST, Emitter, OutputLost, load_select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

# How often a quiet stream is looked at for a reader that left.
GLANCE = 0.25
HEARTBEAT = '{"type":"aoi:heartbeat"}'


class Supervisor:
    """Watches over one run. Its thread ends with the process."""

    def __init__(
        self,
        emitter: "Emitter | None",
        interrupts: "Interrupts",
        *,
        timeout: "float | None",
        heartbeat: "float | None",
        grace: float = GRACE,
        last_words: "Callable[[StopReason, int], list[str]] | None" = None,
    ) -> None:
        self._emitter = emitter
        self._interrupts = interrupts
        self._deadline = monotonic() + timeout if timeout else None
        self._heartbeat = heartbeat
        self._grace = grace
        # The end of the stream after so many results, for when the main thread cannot say it.
        self._last_words = last_words
        self._last_chance: float | None = None
        self._wake = allocate_lock()
        self._wake.acquire()

    def start(self) -> None:
        if self._emitter is not None:
            self._emitter.wake = self._wake_up
        self._interrupts.supervised = True
        start_new_thread(self._watch, ())

    def _wake_up(self) -> None:
        if self._wake.locked():
            try:
                self._wake.release()
            except RuntimeError:
                return  # another thread was faster; the thread is awake, which is all that was wanted

    def _watch(self) -> None:
        while True:
            if self._emitter is not None and self._emitter.stuck:
                self._emitter.writable(self._patience())
            elif self._wake.acquire(timeout=self._patience()):
                sleep(LATEST)
            resume_collection()
            if self._emitter is not None:
                self._look(self._emitter)
            self._enforce()

    def _patience(self) -> float:
        if self._deadline is None:
            return GLANCE
        return min(max(self._deadline - monotonic(), 0.0), GLANCE)

    def _look(self, emitter: "Emitter") -> None:
        """Write what waits; notice a reader that has gone, and an output that takes no more."""
        load_select()
        quiet = monotonic() - emitter.written
        if self._heartbeat is not None and quiet >= self._heartbeat:
            emitter.beat(HEARTBEAT)
        if quiet >= LATEST or emitter.stuck:
            emitter.offer()
        if emitter.waiting and not emitter.stuck:
            self._wake_up()  # added while we wrote, or not due yet: the main thread will not call for these again
        if emitter.failure is None and _reader_left(emitter.descriptor):
            emitter.failure = BrokenPipeError()
        if emitter.failure is not None and self._interrupts.stop is None and not self._interrupts.applying:
            self._interrupts.request(StopReason(OUTPUT_LOST, OutputLost(emitter.failure).exit_code))

    def _enforce(self) -> None:
        """Enforce the deadline, and end a process that a stop does not reach."""
        now = monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            self._interrupts.request(StopReason(TIMEOUT, EX_TIMEOUT))
        stop = self._interrupts.stop or self._interrupts.unheard()
        if stop is None:
            return
        if self._interrupts.stop is None:
            # The signal came after the main thread last looked for one and before a call that waits, or to another thread.
            self._interrupts.poke()
        self._interrupts.repeat()
        if self._last_chance is None:
            self._last_chance = now + (APPLY_GRACE if self._interrupts.applying else self._grace)
        elif now > self._last_chance:
            if not self._interrupts.applying:
                self._end(stop)
            self._interrupts.applying = False
            self._last_chance = now + GRACE
            self._interrupts.poke()

    def _end(self, stop: "StopReason") -> "NoReturn":
        """The main thread is in code that does not return, or waits for the reader: end without it."""
        words, decided = self._last_words, self._interrupts.exit_code
        if self._emitter is not None and words is not None and stop.reason != OUTPUT_LOST:
            self._emitter.give_up(lambda results: words(stop, results))
        os._exit(stop.exit_code if decided is None else decided)


def _reader_left(descriptor: int) -> bool:
    """Whether the other end of a pipe or socket has been closed. Files never say so."""
    from select import POLLERR, POLLHUP, poll

    poller = poll()
    poller.register(descriptor, 0)
    return any(flags & (POLLERR | POLLHUP) for _, flags in poller.poll(0))
