"""Between a vendor's asynchronous SDK and the agent's loop: one event loop per call, in the worker's own thread.

`pieces` drives an asynchronous iterator from a plain generator. The loop lives in the thread that reads the pieces,
so no thread is left behind; `cancel` from any other thread cancels the task that waits for the vendor, which closes
the connection. Retries are ours, not the SDK's, because the user must see them: before the first visible piece a
request that failed for a passing reason is made again; after it, never, since the model would say the same words
twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from operable.agent.cancellation import Cancellation, Cancelled
from operable.agent.model import Finished, ModelError, Piece, Retrying

STREAM_RETRIES = 2  # a connection that broke before the first word
STATUS_DELAYS = (1.0, 5.0, 10.0, 30.0)  # seconds; for 429 and 5xx, unless the vendor says how long
LONGEST_WAIT = 60.0  # a vendor that asks for more is not waited for: the user is told
CONNECT_TIMEOUT, SILENCE_TIMEOUT = 10.0, 120.0


T = TypeVar("T")


@dataclass(slots=True)
class Broken(Exception):  # noqa: N818 - what happened to the stream
    """The vendor's stream could not be made or broke off; `passing` reasons are worth another try."""

    message: str
    passing: bool
    status: int | None = None
    retry_after: float | None = None


def pieces(
    make: Callable[[], AsyncIterator[Piece]],
    cancellation: Cancellation,
    *,
    broken: Callable[[Exception], Broken],
) -> Iterator[Piece]:
    """The pieces of a call, with retries. `make` begins a new request; `broken` explains the SDK's exceptions."""
    loop = asyncio.new_event_loop()
    streams = statuses = 0
    try:
        while True:
            said_something = False
            problem: Broken | None = None
            source = make()
            try:
                while True:
                    piece = _next(loop, source, cancellation)
                    if piece is None:
                        return
                    said_something = True
                    yield piece
                    if isinstance(piece, Finished):
                        return
            except Cancelled:
                raise
            except Exception as error:  # noqa: BLE001 - whatever an SDK raises; `broken` tells faults of ours apart
                problem = error if isinstance(error, Broken) else broken(error)
            finally:
                loop.run_until_complete(_closed(source))
            assert problem is not None  # noqa: S101 - every other way out of the loop above returns or raises
            delay = None if said_something else _delay(problem, streams, statuses)
            if delay is None:
                raise ModelError(
                    problem.message,
                    retryable=problem.passing,
                    status=problem.status,
                    retry_after=problem.retry_after,
                ) from problem
            if problem.status is None:
                streams += 1
                yield Retrying(f"Stream interrupted, retrying... ({streams}/{STREAM_RETRIES})")
            else:
                statuses += 1
                yield Retrying(
                    f"{problem.message} Retrying in {delay:g} s... ({statuses}/{len(STATUS_DELAYS)})"
                )
            _sleep(loop, delay, cancellation)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _delay(problem: Broken, streams: int, statuses: int) -> float | None:
    """How long to wait before the next try; None: no further try."""
    if not problem.passing:
        return None
    if problem.status is None:
        return 0.5 * (streams + 1) if streams < STREAM_RETRIES else None
    if statuses >= len(STATUS_DELAYS):
        return None
    delay = problem.retry_after if problem.retry_after is not None else STATUS_DELAYS[statuses]
    return delay if delay <= LONGEST_WAIT else None


def _next(
    loop: asyncio.AbstractEventLoop, source: AsyncIterator[Piece], cancellation: Cancellation
) -> Piece | None:
    async def wait() -> Piece | None:
        return await anext(source, None)

    return _wait(loop, wait(), cancellation)


def _sleep(loop: asyncio.AbstractEventLoop, delay: float, cancellation: Cancellation) -> None:
    _wait(loop, asyncio.sleep(delay), cancellation)


def _wait(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], cancellation: Cancellation) -> T:
    task = loop.create_task(work)
    with cancellation.waking(lambda: _threadsafe(loop, task)):
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise Cancelled from None


def _threadsafe(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    loop.call_soon_threadsafe(task.cancel)


async def _closed(source: AsyncIterator[Piece]) -> None:
    close = getattr(source, "aclose", None)
    if close is not None:
        await close()
