"""Sessions for callers without an event loop: the same, blocking.

All of them share one private loop in one daemon thread, started on first use. A method hands its work to that loop and
waits; an interrupt of the waiting thread (Ctrl-C) leaves the session as it is, to be cancelled or closed. Callbacks such
as `on_ask` are called on the private loop's thread.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from operable.gate.approvals import Ask
from operable.host.arm import Message, Opened
from operable.host.session.log_files import Record, read_log
from operable.host.session.registry import SessionMeta
from operable.host.session.session import Session
from operable.host.session.turn import Turn, TurnResult
from operable.wire.events import AnyEvent, TurnEnd

_Result = TypeVar("_Result")
# SIGTERM, five seconds, SIGKILL, and a loaded machine.
_CLEAN_UP = 15.0
_GLANCE = 0.5


class SyncTurn:
    """The events of a running turn, one after the other."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._batches = self._all()

    def __iter__(self) -> Iterator[AnyEvent]:
        return self._batches

    @property
    def end(self) -> TurnEnd | None:
        return self._turn.end

    def skip(self) -> int:
        """Go on with the last events of a turn that is over, for a reader that is behind; how many it leaves out."""
        skipped: int = blocking(_call(self._turn.skip))
        return skipped

    def result(self) -> TurnResult:
        """Run to the end; what came of it."""
        return blocking(self._turn.result())

    def _all(self) -> Iterator[AnyEvent]:
        batches = self._turn.batches()
        while (batch := blocking(_next(batches))) is not None:
            yield from batch


class SyncSession:
    """A running agent; see `Session`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def status(self) -> str:
        return self._session.status

    @property
    def agent_session_id(self) -> str | None:
        return self._session.agent_session_id

    @property
    def meta(self) -> SessionMeta:
        """What is known about it; it goes on changing."""
        return self._session.home.meta

    @property
    def opened(self) -> Opened | None:
        """What the agent said about itself when it began."""
        return self._session.opened

    @property
    def asks(self) -> list[Ask]:
        return blocking(_call(lambda: self._session.asks))

    def send(self, message: str | Message, *, timeout: float | None = None) -> SyncTurn:
        """Begin a turn; iterate over the result for its events."""
        return SyncTurn(blocking(_call(lambda: self._session.send(message, timeout=timeout))))

    def cancel(self) -> bool:
        return blocking(self._session.cancel())

    def answer(
        self,
        request_id: str,
        allowed: bool = True,
        *,
        reason: str = "",
        option_id: str | None = None,
        content: Any = None,
        remember: str = "",
        digest: str = "",
        by: str = "caller",
    ) -> None:
        def answer() -> None:
            self._session.answer(
                request_id,
                allowed,
                reason=reason,
                option_id=option_id,
                content=content,
                remember=remember,
                digest=digest,
                by=by,
            )

        blocking(_call(answer))

    def select(self, *, mode: str | None = None, model: str | None = None) -> None:
        blocking(_call(lambda: self._session.select(mode=mode, model=model)))

    def events(self, after: int = 0) -> Iterator[Record]:
        """What is in the log behind this number now."""
        return read_log(self._session.log.folder, after)

    def close(self) -> None:
        blocking(self._session.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def blocking(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run on the private loop, wait for the result."""
    return _waited(asyncio.run_coroutine_threadsafe(work, _loop()))


def interruptible(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Like `blocking`, but an interrupt of the waiting thread cancels the work and waits for it to clean up."""
    over = threading.Event()

    async def noted() -> _Result:
        try:
            return await work
        finally:
            over.set()

    future: Future[_Result] | None = None
    try:
        future = asyncio.run_coroutine_threadsafe(noted(), _loop())
        return _waited(future)
    except BaseException:
        if future is not None and not future.done():
            future.cancel()
            over.wait(_CLEAN_UP)
        raise


def _waited(future: "Future[_Result]") -> _Result:
    """The result. Python may miss a signal that comes just before a wait without a limit, so this one has one."""
    while True:
        try:
            return future.result(_GLANCE)
        except TimeoutError:
            if future.done():
                raise


async def _next(batches: AsyncIterator[list[AnyEvent]]) -> list[AnyEvent] | None:
    return await anext(batches, None)


async def _call(work: Any) -> Any:
    return work()


_LOCK = threading.Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        if not _LOOPS:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="operable-sessions", daemon=True).start()
            _LOOPS.append(loop)
        return _LOOPS[0]
