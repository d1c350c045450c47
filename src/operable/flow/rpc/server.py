"""The JSON-RPC server on stdin and stdout: quick methods at once, slow ones beside them, every line bounded.

The main thread reads, answers what needs no waiting with one write, and hands the rest on: large requests to a few
workers, because reading them takes a processor, and each slow method to a worker of its own, because it waits for the
world. A slow `apply` never holds up anything else, and answers carry the ids by which clients match them. The end of stdin
ends the server: what still runs is waited for, up to a limit. A line that is too long is answered and skipped. When
the client no longer reads stdout, the server ends.

A ping costs about 3 µs of Python beside its two system calls: no hand-over between threads, no event loop, no second
reading of the line (`bench/flow.py` measures it).
"""

import os
import select
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from operable.flow.errors import FlowError
from operable.flow.operation import Defaults
from operable.flow.rpc.protocol import (
    APPLICATION,
    NO_METHODS,
    READY,
    REQUEST_LIMIT,
    Methods,
    RpcJob,
    accept,
    encode,
    perform,
    too_long,
)
from operable.kernel.errors import EX_SIGPIPE
from operable.kernel.redact import redact_text
from operable.tool.process import complain
from operable.wire.jsonrpc import error_response
from operable.wire.lines import LineTooLong, SkippingSplitter

REQUEST_TIMEOUT = 300.0
"""Seconds for a slow method; its answer is then an error, and what it does later is not reported."""
INLINE_LIMIT = 64 * 1024
"""Bytes. A quick method is answered by the reading thread up to this size of its request: validating that much takes a few
milliseconds, which is what a ping may have to wait."""
PENDING_LIMIT, PENDING_BYTES = 256, 64 * 1024 * 1024
"""Requests that may wait or run beside the reading thread, and their bytes. When there are more, reading also waits: a
client that asks faster than it can be answered fills its own pipe and not our memory."""
_READERS = 4
_CHUNK = 1 << 16


class RpcServer:
    """Serves until its client is gone."""

    def __init__(
        self,
        defaults: Defaults,
        *,
        stdin: int = 0,
        stdout: int = 1,
        limit: int = REQUEST_LIMIT,
        timeout: float = REQUEST_TIMEOUT,
        more: Methods = NO_METHODS,
    ) -> None:
        self._defaults, self._more = defaults, more
        self._stdin, self._stdout = stdin, stdout
        self._limit, self.timeout = limit, timeout
        self._writing = threading.Lock()
        self._gone = False
        # Threads are made when they are needed.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="rpc-reading")
        self._waiters = ThreadPoolExecutor(PENDING_LIMIT + _READERS, thread_name_prefix="rpc-waiting")
        self._running: set[Future[None]] = set()
        self.unanswered: set[_Once] = set()
        self._room = threading.Condition()
        self._pending, self._pending_bytes = 0, 0

    def serve(self) -> int:
        """The exit status of the process."""
        self._write(encode(READY))
        lines = SkippingSplitter(self._limit)
        while not self._gone and (chunk := self._read()):
            for line in lines.feed(chunk):
                self._take(line)
        if rest := lines.eof():
            self._take(rest)
        self._finish()
        return EX_SIGPIPE if self._gone else 0

    def _finish(self) -> None:
        ends = time.monotonic() + self.timeout
        while self._running and (left := ends - time.monotonic()) > 0:
            wait(self._running, timeout=left)  # a large request may have become a slow one meanwhile
        for once in list(self.unanswered):  # their time is up as well, and their timers end with the process
            once.too_late()
        for pool in (self._readers, self._waiters):
            pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, line: bytes | LineTooLong) -> None:
        if isinstance(line, LineTooLong):
            self._write(too_long(self._limit))
            return
        if not line or line.isspace():
            return
        if len(line) > INLINE_LIMIT:
            self._beside(self._readers, self._take_large, line, len(line))
            return
        accepted = accept(line, self._more)
        if not isinstance(accepted, RpcJob):
            self._answer(accepted)
        elif accepted.operation.slow:
            once = _Once(self, accepted)
            self._beside(self._waiters, once.work, once.timer(), len(line))
        else:
            self._answer(perform(accepted, self._defaults, report))

    def _take_large(self, line: bytes) -> None:
        """In a worker: reading a large request takes longer than others may wait."""
        accepted = accept(line, self._more)
        if not isinstance(accepted, RpcJob):
            self._answer(accepted)
            return
        once = _Once(self, accepted)
        if accepted.operation.slow:  # without waiting for room: it has some
            self._start(self._waiters, once.work, once.timer(), len(line))
        else:
            once.work(once.timer())

    def _beside(
        self, pool: ThreadPoolExecutor, work: Callable[[Any], None], argument: Any, size: int
    ) -> None:
        with self._room:
            self._room.wait_for(lambda: self._has_room(size))
        self._start(pool, work, argument, size)

    def _start(self, pool: ThreadPoolExecutor, work: Callable[[Any], None], argument: Any, size: int) -> None:
        with self._room:
            self._pending += 1
            self._pending_bytes += size
        future = pool.submit(work, argument)
        self._running.add(future)
        future.add_done_callback(lambda done: self._left(done, size))

    def _has_room(self, size: int) -> bool:
        fits = self._pending_bytes + size <= PENDING_BYTES and self._pending < PENDING_LIMIT
        return fits or not self._pending

    def _left(self, done: Future[None], size: int) -> None:
        self._running.discard(done)
        with self._room:
            self._pending -= 1
            self._pending_bytes -= size
            self._room.notify()

    def perform(self, job: RpcJob) -> bytes | None:
        return perform(job, self._defaults, report)

    def _answer(self, line: bytes | None) -> None:
        if line is not None:
            self._write(line)

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        with self._writing:
            try:
                while view and not self._gone:
                    try:
                        view = view[os.write(self._stdout, view) :]
                    except BlockingIOError:  # another process with the same descriptor may have set it so
                        select.select([], [self._stdout], [])
            except OSError:
                self._gone = True  # the client does not read; there is no client to inform

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._stdin, _CHUNK)
            except BlockingIOError:
                select.select([self._stdin], [], [])


class _Once:
    """One slow request: answered by what comes first, its end or its time limit."""

    def __init__(self, server: RpcServer, job: RpcJob) -> None:
        self._server, self._job = server, job
        self._lock = threading.Lock()
        self._answered = False

    def timer(self) -> threading.Timer:
        """Started now: the time that a request waits for a worker counts."""
        timer = threading.Timer(self._server.timeout, self.too_late)
        timer.daemon = True
        self._server.unanswered.add(self)
        timer.start()
        return timer

    def work(self, timer: threading.Timer) -> None:
        line = self._server.perform(self._job)
        timer.cancel()
        self._answer(line)

    def too_late(self) -> None:
        data: dict[str, Any] = {"code": "timeout", "error_type": "internal_error"}
        error = {"code": APPLICATION, "message": "The request took too long", "data": data}
        silent = self._job.silent
        self._answer(None if silent else encode(error_response(self._job.id, error)))

    def _answer(self, line: bytes | None) -> None:
        with self._lock:  # also while it is written: the second thread may be about to end the process
            if self._answered:
                return
            self._answered = True
            self._server._answer(line)  # noqa: SLF001 - its own other half
        self._server.unanswered.discard(self)


def report(problem: BaseException) -> None:
    """A fault of ours, for the operator of the server."""
    text = problem.message if isinstance(problem, FlowError) else f"{type(problem).__name__}: {problem}"
    complain(f"internal error: {redact_text(text)}")
