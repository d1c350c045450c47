"""The stream of a run: its events as lines, few and large writes to the private stdout, nothing torn and nothing late.

A sink receives everything in order and decides only how it looks: `MachineSink` here, `human.mode` for people.

Theory of operation. Lines are collected and written as a block when 60 KiB are there. A line that finds the buffer
empty after a quiet moment is written at once; one that comes in a burst waits for company, but at most `LATEST`
seconds, because the supervisor's thread then writes the block. So a slow stream has no delay, a fast one no system
call per line, and neither needs a timer per event.

A block is written under a lock and shielded from the interrupts of `interrupt`, so a signal never tears a line.
"""

import os
from _thread import allocate_lock
from time import monotonic

from operable.kernel.errors import EX_IOERR, EX_SIGPIPE
from operable.tool.process import complain
from operable.tool.records import harmless, json_text, utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from operable.kernel.errors import Fail
    from operable.tool.interrupt import Interrupts

    class Sink(Protocol):
        """`encoder(class)` and `encode(dict)` make what `put` takes; `size` is its length in bytes as a line."""

        secrets: "tuple[str, ...]"
        emitter: "Emitter | None"  # None where the output is for people

        @property
        def put(self) -> "Callable[[Any], None]": ...
        def encoder(self, kind: "type[Any]") -> "Callable[[Any], Any]": ...
        def encode(self, event: "dict[str, Any]") -> "Any": ...
        def size(self, encoded: "Any") -> int: ...
        def meta(self, fields: "dict[str, Any]") -> None: ...
        def notice(self, fields: "dict[str, Any]") -> None: ...
        def error(self, fail: "Fail") -> None: ...
        def settle(self) -> None: ...
        def prose(self, text: str, style: str) -> None: ...
        def summary(self, fields: "dict[str, Any]") -> None: ...
        def results(self) -> int: ...
        def complain(self, text: str) -> None: ...
        def close(self) -> None: ...


# With its last line a block still fits into a Linux pipe (64 KiB). What does not fit makes the writer wait in the kernel:
# the reader and it wake each other twice for every block.
BLOCK = 61_440
LATEST = 0.02  # a consumer is promised an event within 50 ms; half of that is left for a busy machine
_PIPE_BUF = 4096  # what a pipe takes as one piece (select.PIPE_BUF on Linux)


class OutputLost(Exception):  # noqa: N818 - not always an error: often the reader has had enough
    """Nothing can be written any more: the reader closed the pipe (a quiet end) or the output failed."""

    def __init__(self, failure: "OSError") -> None:
        super().__init__(failure.strerror or str(failure))
        self.quiet = isinstance(failure, BrokenPipeError)
        self.exit_code = EX_SIGPIPE if self.quiet else EX_IOERR


def load_select() -> None:
    """Load what `Emitter.writable` needs while no lock is held and no fork is made.

    An import may have to wait for another thread's, and one that a fork cuts in two stays locked in the child forever.
    """
    import select  # noqa: F401 - only loaded


class Emitter:
    """Writes lines to a descriptor. The main thread adds and flushes; the supervisor's thread offers, beats and gives up."""

    def __init__(self, descriptor: int, interrupts: "Interrupts", *, for_process: bool = True) -> None:
        """`for_process`: the output of this process, which a forked child must not write to; else of one run in it."""
        self.descriptor = descriptor
        self.failure: OSError | None = None
        self.wake: Callable[[], object] | None = None  # asks the supervisor to write soon
        self.written = monotonic()
        self._interrupts = interrupts
        self._lock = allocate_lock()
        self.lines: list[bytes] = []  # not yet taken to be written; only ever added to at its end
        self._size = 0
        self._rest = memoryview(b"")  # taken from the lines, and not yet taken by the reader
        self._total = 0  # lines taken
        self._asides = 0  # lines that are not results
        self._ended = False
        self._head: bytes | None = None
        self._surrendered = False
        if for_process and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=load_select, after_in_child=self._forget)

    def line(self, data: bytes) -> None:
        """Add one line (without its newline). `CommandRun` has this written out in its hot loop."""
        lines = self.lines
        if lines and self._size + len(data) > BLOCK:
            self.flush()
        lines.append(data)
        self._size = len(data) if len(lines) == 1 else self._size + len(data)
        if self._size >= BLOCK:
            self.flush()
        elif len(lines) == 1:
            self.begun()

    def begun(self) -> None:
        """The first line of a block is there: write it at once after a quiet moment, else let it wait for company."""
        if self.wake is None or monotonic() - self.written > LATEST:  # the line itself may be gone by now
            self.flush()
        else:
            self.wake()

    def batch(self, data: bytes, results: int) -> None:
        """Add several lines at once (without the newline of the last)."""
        with self._interrupts:
            self._asides += 1 - results  # they are one line to the buffer
            self.line(data)

    def aside(self, text: str) -> None:
        """Add a line that is not a result."""
        with self._interrupts:
            self._asides += 1
            self.line(utf8(text))

    def head(self, text: str) -> None:
        """The line that goes before all others, whenever the first of them goes. Until then it may still be replaced."""
        with self._interrupts, self._lock:
            self._head = utf8(text)

    def block(self, data: bytes, results: int) -> None:
        """Add and write whole lines that are encoded already, with their newlines."""
        with self._interrupts, self._lock:
            self._take()
            self._add(harmless(data))
            self._total += results
            self._write_all()
        if self.failure is not None:
            raise self._output_lost(self.failure)

    def surrender(self) -> None:
        """Another process writes the output: nothing that is still here, or will be given to us, is written any more."""
        with self._interrupts, self._lock:
            self._surrendered = True

    def flush(self) -> None:
        """Write what is there, from the main thread; raises OutputLost when that is not possible.

        Not while an effect is applied: what has begun is finished and recorded, with or without a reader.
        """
        with self._interrupts, self._lock:
            self._take()
            self._write_all()
        if self.failure is not None and not self._interrupts.applying:
            raise self._output_lost(self.failure)

    def end(self, text: "str | None" = None) -> None:
        """The last line. Nothing is written after it, from no thread."""
        with self._interrupts, self._lock:
            if text is not None:
                self.lines.append(utf8(text))
            self._take()
            self._ended = True
            self._write_all()
        if self.failure is not None:
            raise self._output_lost(self.failure)

    def _output_lost(self, failure: "OSError") -> "OutputLost":
        lost = OutputLost(failure)
        self._interrupts.told(lost.exit_code)
        return lost

    def results(self) -> int:
        """How many lines are results. Counted here because an interrupt may come between a line and its count elsewhere."""
        with self._lock:
            return self._results()

    # -- for the supervisor's thread: nothing here waits for the reader ---------------------------------------------------

    @property
    def waiting(self) -> bool:
        return bool(self.lines)

    @property
    def stuck(self) -> bool:
        """Whether the reader did not take all that it was offered, and no call is waiting for it to do so."""
        return bool(self._rest) and not self._lock.locked()

    def offer(self) -> None:
        """Write as much as the reader takes at once. When the main thread is writing, that is as good."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._rest:
                self._take()
            self._write_some()
        finally:
            self._lock.release()

    def beat(self, text: str) -> None:
        """A sign of life, unless the last line has been said or is being said."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._ended and not self._rest:
                self._asides += 1
                self.lines.append(utf8(text))
                self._take()
                self._write_some()
        finally:
            self._lock.release()

    def give_up(self, last_words: "Callable[[int], list[str]]") -> None:
        """The last lines, in place of a main thread that does not come back. Keeps the lock: the process ends now."""
        if not self._lock.acquire(timeout=LATEST) or self._ended:
            return
        self._ended = True
        self.lines += map(utf8, last_words(self._results()))
        while self._rest or self.lines:
            if not self._rest:
                self._take()
            before = len(self._rest)
            self._write_some()
            if len(self._rest) == before:
                return

    # -- under the lock --------------------------------------------------------------------------------------------------

    def _results(self) -> int:
        return self._total + len(self.lines) - self._asides

    def _take(self) -> None:
        """Turn the lines that are there into bytes. Only up to what was seen: the other thread may add one meanwhile."""
        seen = len(self.lines)
        lines = self.lines[:seen]
        del self.lines[:seen]
        self._size = 0
        self._total += seen
        if lines:
            lines.append(b"")
            self._add(harmless(b"\n".join(lines)))

    def _add(self, data: bytes) -> None:
        """To what is about to be written, after the head if this is the first."""
        if self.failure is not None or self._surrendered:
            return
        if self._head is not None:
            data, self._head = self._head + b"\n" + data, None
        self._rest = memoryview(bytes(self._rest) + data if self._rest else data)

    def _write_all(self) -> None:
        try:
            while self._rest:
                try:
                    self._rest = self._rest[os.write(self.descriptor, self._rest) :]
                except BlockingIOError:  # another process that shares the pipe has made it non-blocking
                    self.writable(None)
        except OSError as failure:
            self._lost(failure)
        self.written = monotonic()

    def _write_some(self) -> None:
        """Write while that does not wait: a pipe that can be written to takes PIPE_BUF bytes without blocking."""
        try:
            while self._rest and self.writable(0.0):
                self._rest = self._rest[os.write(self.descriptor, self._rest[:_PIPE_BUF]) :]
                self.written = monotonic()
        except BlockingIOError:
            return
        except OSError as failure:
            self._lost(failure)

    def writable(self, timeout: "float | None") -> bool:
        """Wait until the reader takes more, or has gone."""
        from select import POLLOUT, poll

        poller = poll()
        poller.register(self.descriptor, POLLOUT)
        return bool(poller.poll(None if timeout is None else timeout * 1000))

    def _lost(self, failure: "OSError") -> None:
        self.failure = BrokenPipeError() if isinstance(failure, ConnectionError) else failure
        self._rest = memoryview(b"")

    def _forget(self) -> None:
        """In a forked child (multiprocessing): the parent's lines are not the child's to write, now or ever, and the
        reader must see the end of the stream when the parent ends.
        """
        self._lock = allocate_lock()
        self.lines, self._size, self._rest, self._ended = [], 0, memoryview(b""), True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.descriptor, inheritable=False)
        os.close(nowhere)


class MachineSink:
    """The AOI stream."""

    def __init__(self, emitter: "Emitter", secrets: "tuple[str, ...]") -> None:
        self.emitter: Emitter | None = emitter
        self.secrets = secrets
        self.put = emitter.line
        self._write = emitter

    def encoder(self, kind: "type[Any]") -> "Callable[[Any], bytes]":
        if self.secrets:
            return lambda event: self.encode(event.to_dict())
        to_json = kind.to_json
        return lambda event: utf8(to_json(event))

    def encode(self, event: "dict[str, Any]") -> bytes:
        return utf8(self._text(event))

    def _text(self, event: "dict[str, Any]") -> str:
        if self.secrets:
            from operable.tool.secrecy import masked

            event = masked(event, self.secrets)
        return json_text(event)

    def size(self, encoded: bytes) -> int:
        return len(encoded) + 1

    def meta(self, fields: "dict[str, Any]") -> None:
        self._write.aside(json_text(fields))

    def notice(self, fields: "dict[str, Any]") -> None:
        self._write.aside(self._text(fields))

    def error(self, fail: "Fail") -> None:
        from operable.tool.secrecy import shown_error

        self._write.aside(json_text(shown_error(fail, self.secrets)))

    def summary(self, fields: "dict[str, Any]") -> None:
        self._write.end(json_text(fields))

    def settle(self) -> None:
        """A machine gets everything in time anyway."""

    def prose(self, text: str, style: str) -> None:
        """Running text is for people."""

    def results(self) -> int:
        return self._write.results()

    def complain(self, text: str) -> None:
        complain(text)

    def close(self) -> None:
        self._write.flush()
