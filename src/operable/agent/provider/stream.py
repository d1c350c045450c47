"""Between a vendor's asynchronous SDK and the agent's loop: a session that blocks, retries, and can be hung up.

The event loop runs in the thread that reads the pieces, and only while it waits for one: no thread is left behind, and
nothing is read without a request. `cancel` from any other thread cancels the task that waits for the vendor, which
closes the connection. A loop with its SDK client (making one costs more than a model's first byte) is a `_Line`; lines
are kept for the next call, and two calls at once, as sub-agents make them, have two.

Retries are ours, not the SDK's, because the user must see them. Before the first piece, a request that failed for a
passing reason is made again; after it, never, since the model would say the same words twice.
"""

import json
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from operable.agent.loop.cancellation import Cancellation, Cancelled
from operable.agent.provider.errors import Broken, broke_off
from operable.agent.provider.model import Finished, ModelError, ModelRequest, Piece, Retrying, ToolOffer, Used
from operable.agent.provider.turns import mended, writable
from operable.agent.session.history import HistoryTurn, TextBlock
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Redactor

if TYPE_CHECKING:
    import asyncio  # at run time when a client is made: it is between the command line and `ready`

STREAM_RETRIES = 2  # a connection that failed or broke before the first word
STREAM_DELAY = 0.5  # seconds before the first of them; the second waits twice as long
STATUS_DELAYS = (1.0, 5.0, 10.0, 30.0, 60.0)  # seconds; for 429 and 5xx, unless the vendor says how long
LONGEST_WAIT, TOTAL_WAIT = 60.0, 120.0  # a vendor that asks for more is not waited for: the user sees why

Answer = Callable[[Any, ModelRequest], AsyncGenerator[Piece, None]]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A small answer in the vendor's own format, for a first request that is not sent (see `ProviderSession.prepare`)."""

    body: bytes
    content_type: str = "text/event-stream"


@dataclass(slots=True)
class _Line:
    loop: "asyncio.AbstractEventLoop"
    client: Any


class ProviderSession:
    """`client` makes the SDK's client, `answer` one request with it; `explained` reads the SDK's exceptions.

    `client` gets the transport to use instead of the network, or None.
    """

    def __init__(
        self,
        client: Callable[[Any], Any],
        answer: Answer,
        explained: Callable[[Exception], Broken],
        *,
        rehearsal: Rehearsal,
        secrets: Sequence[str] = (),
    ) -> None:
        self._client, self._answer, self._explained = client, answer, explained
        self._rehearsal = rehearsal
        self._redactor = Redactor(secrets)
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[_Line] = []
        self._closed = self._used = False

    def prepare(self) -> None:
        """Load the SDK and make the first client ahead of the first request, which finds it or waits for it.

        SDKs load and build much more when they are first used: up to two seconds. So a request is played through with
        an answer that is already here.
        """
        try:
            with self._making:
                if self._used:
                    return  # another request was faster, and would only be disturbed
                line = self._made()
                _finish(line.loop, _started(line.loop, self._rehearse()))
                self._give_back(line)
        except Exception:  # noqa: BLE001 - no caller listens here; the first request meets the same fault and says it
            return

    async def _rehearse(self) -> None:
        import anyio.lowlevel
        import httpx2

        await anyio.lowlevel.checkpoint()  # loads what the SDK's network layer needs
        rehearsal = self._rehearsal
        head = {"content-type": rehearsal.content_type}
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=head, content=rehearsal.body))
        tool = ToolOffer("Rehearse", "Nothing.", {"type": "object"})
        request = ModelRequest(
            "rehearsal", (HistoryTurn("user", (TextBlock("Ready?"),)),), "A rehearsal.", (tool,)
        )
        async with self._client(transport) as client, aclosing(self._answer(client, request)) as source:
            async for _ in source:
                pass

    def stream(self, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]:
        cancellation.check()
        try:
            line = self._take()
        except Exception as error:  # noqa: BLE001 - whatever an SDK makes of what the user configured
            reason = self._redactor.text(mended(f"{type(error).__name__}: {error}"))
            raise ModelError(f"The provider could not be set up: {reason}") from None
        try:
            cancellation.check()  # the first client may have taken its time
            yield from self._tries(line, request, cancellation)
        finally:
            self._give_back(line)

    def close(self) -> None:
        """Close what is not in use, and what is as soon as its call ends; may be called twice."""
        with self._lock:
            self._closed = True
            lines, self._idle = self._idle, []
        for line in lines:
            _close(line)

    def _tries(self, line: _Line, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]:
        patience = _Patience()
        while True:
            said_something = False
            try:
                for piece in self._once(line, request, cancellation):
                    said_something = said_something or not isinstance(piece, Used)
                    yield piece
                return
            except Broken as problem:
                message = self._redactor.text(mended(problem.message))
                again = None if said_something else patience.after(problem, message)
                if again is None:
                    raise ModelError(
                        message,
                        retryable=problem.passing,
                        status=problem.status,
                        retry_after=problem.retry_after,
                        overflow=problem.overflow,
                    ) from None
            delay, reported = again
            yield Retrying(reported)
            _pause(line.loop, delay, cancellation)

    def _once(self, line: _Line, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]:
        """One request. The first piece is handed over at once, others with all that the same read of the socket brought."""
        import asyncio

        loop, ready, last = line.loop, deque[Piece](), None

        async def pump() -> None:
            async with aclosing(self._answer(line.client, request)) as source:
                is_first = True
                async for piece in source:
                    ready.append(
                        writable(piece)
                    )  # here, where bytes that are not text are the provider's fault
                    loop.stop()
                    if is_first:
                        is_first = False
                        await asyncio.sleep(0)

        task = _started(loop, pump())
        with cancellation.waking(lambda: _cancel(loop, task)):
            try:
                while True:
                    while not ready and not task.done():
                        loop.run_forever()
                    cancellation.check()
                    if not ready:
                        break
                    last = ready.popleft()
                    yield last
            finally:
                task.cancel()
                problem = _finish(loop, task)
        if isinstance(problem, Exception):
            raise self._explained(problem) from problem
        if not isinstance(last, Finished):
            raise broke_off()

    def _take(self) -> _Line:
        with self._making:  # so that a request that comes while the first client is being made gets that one
            self._used = True
            with self._lock:
                if self._idle:
                    return self._idle.pop()
            return self._made()

    def _made(self) -> _Line:
        import asyncio

        client = self._client(None)  # before the loop, which would be left open by a failure
        return _Line(asyncio.new_event_loop(), client)

    def _give_back(self, line: _Line) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(line)
                return
        _close(line)


def sse(events: Sequence[Mapping[str, Any]], *, named: bool = False) -> bytes:
    """Server-sent events, with their type as their name where the vendor does so."""
    written = ""
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        written += f"{name}data: {json.dumps(event)}\n\n"
    return written.encode()


class _Patience:
    """How often one call has been tried, and how long it may still wait."""

    def __init__(self) -> None:
        self._streams = self._statuses = 0
        self._waited = 0.0

    def after(self, problem: Broken, message: str) -> tuple[float, str] | None:
        """The seconds before the next try, and the message for the user; None: there is no next try."""
        if not problem.passing:
            return None
        if problem.status is None:
            if self._streams == STREAM_RETRIES:
                return None
            self._streams += 1
            reported = f"Stream interrupted, retrying... ({self._streams}/{STREAM_RETRIES})"
            return STREAM_DELAY * self._streams, reported
        if self._statuses == len(STATUS_DELAYS):
            return None
        delay = problem.retry_after if problem.retry_after is not None else STATUS_DELAYS[self._statuses]
        if delay > LONGEST_WAIT or self._waited + delay > TOTAL_WAIT:
            return None
        self._statuses += 1
        self._waited += delay
        return delay, f"{message} Retrying in {delay:g} s... ({self._statuses}/{len(STATUS_DELAYS)})"


def _started(loop: "asyncio.AbstractEventLoop", work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
    task = loop.create_task(work)
    task.add_done_callback(lambda _: loop.stop())
    return task


def _finish(loop: "asyncio.AbstractEventLoop", task: "asyncio.Task[None]") -> BaseException | None:
    """Run until the task is done, and say how it failed; a stop that was meant for an earlier wait does no harm."""
    while not task.done():
        loop.run_forever()
    return None if task.cancelled() else task.exception()


def _pause(loop: "asyncio.AbstractEventLoop", seconds: float, cancellation: Cancellation) -> None:
    import asyncio

    task = _started(loop, asyncio.sleep(seconds))
    with cancellation.waking(lambda: _cancel(loop, task)):
        _finish(loop, task)
    if task.cancelled():
        raise Cancelled


def _cancel(loop: "asyncio.AbstractEventLoop", task: "asyncio.Task[None]") -> None:
    try:
        loop.call_soon_threadsafe(task.cancel)
    except RuntimeError:  # the call ended, and its session was closed, between the wish and this
        return


def _close(line: _Line) -> None:
    async def closing() -> None:
        await line.client.close()
        await line.loop.shutdown_asyncgens()

    try:
        _finish(line.loop, _started(line.loop, closing()))
    finally:
        line.loop.close()
