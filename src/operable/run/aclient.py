"""Calling tools from asyncio code: the twins of `client`, on the caller's own loop and without a thread.

    async with acall(["outline", "search", "agent", "--output", "jsonl"]) as search:
        async for event in search:
            ...
    print(search.verdict.reason)

Cancelling the task inside the block ends the process group (SIGINT first, with the graces) before the cancellation goes on;
cancelling it again meanwhile sends SIGKILL. Works on any loop with `add_reader` (asyncio's own on POSIX, uvloop).
"""

from __future__ import annotations

import asyncio
import os
import signal
import warnings
from collections import deque
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self, Unpack

from operable.kernel.errors import Fail
from operable.proc.tree.group import signal_group
from operable.run.channel import AsyncChannel
from operable.run.client import MAX_EVENTS, Collected, collected
from operable.run.discovery import Description, adescribe
from operable.run.failure import is_retryable
from operable.run.journey import MAX_PAGES, Journey, waits
from operable.run.judge import CANCELLED
from operable.run.options import CallOptions, options_from
from operable.run.session import CallSession, Outcome
from operable.run.words import machine_words
from operable.wire.framework import Event
from operable.wire.verdict import Verdict


def acall(argv: Sequence[str], **options: Unpack[CallOptions]) -> AsyncCall:
    """Call one tool. Nothing runs until the result is entered (`async with`) or iterated; see `CallOptions`."""
    return AsyncCall(CallSession([argv], options_from(options)))


def apipe(stages: Sequence[Sequence[str]], **options: Unpack[CallOptions]) -> AsyncCall:
    """Call several tools, each reading the output of the one before; see `client.pipe`."""
    return AsyncCall(CallSession(stages, options_from(options)))


async def acollect(
    argv: Sequence[str],
    *,
    max_events: int = MAX_EVENTS,
    attempts: int = 1,
    **options: Unpack[CallOptions],
) -> Collected:
    """Call one tool and keep its events; see `client.collect`."""
    for wait in waits(attempts, options_from(options)):
        result = await _collect_once(argv, max_events, options)
        if not is_retryable(result.verdict):
            return result
        await asyncio.sleep(wait(result.verdict))
    return await _collect_once(argv, max_events, options)


async def apages(
    argv: Sequence[str], *, max_pages: int = MAX_PAGES, **options: Unpack[CallOptions]
) -> AsyncIterator[Collected]:
    """One call after the other, each with the cursor of the one before; see `client.pages`."""
    journey = Journey(machine_words(argv, exact=options.get("exact", False)), max_pages)
    words = journey.words
    while words:
        page = (await acollect(words, **options)).raise_for_status()
        yield page
        words = journey.after(page.verdict)


async def _collect_once(argv: Sequence[str], max_events: int, options: CallOptions) -> Collected:
    events: list[Event] = []
    async with acall(argv, **options) as running:
        async for batch in running.batches():
            events += batch
            if len(events) > max_events:
                break
    return collected(events, running.stages, max_events)


class AsyncCall(Outcome):
    """A running call: async context manager and async iterator. Leaving the block early ends the whole process group."""

    def __init__(self, session: CallSession) -> None:
        super().__init__(session)
        self._changed = asyncio.Event()
        self._channel = AsyncChannel(self._changed.set)
        self._ready: deque[Event] = deque()
        self._owner = os.getpid()  # a fork of this process has copies of its calls, which are not its own

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            batch = await self._next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._ready.extend(batch)
        return self._ready.popleft()

    def __del__(self) -> None:
        chain = getattr(self, "_chain", None)
        if chain is not None and self._stages is None and not chain.done and os.getpid() == self._owner:
            warnings.warn(
                f"a call was left running: {self!r}; use it in an async with block",
                ResourceWarning,
                stacklevel=1,
            )
            for pid in chain.pids:
                signal_group(pid, signal.SIGKILL)

    def __repr__(self) -> str:
        return f"<AsyncCall {' | '.join(' '.join(argv) for argv in self._session.shown)}>"

    async def batches(self) -> AsyncIterator[list[Event]]:
        """The events in the lists in which they arrived: for a consumer that is fast."""
        while (batch := await self._next_batch()) is not None:
            if batch:
                yield batch

    async def wait(self) -> Verdict:
        """Run to the end without looking at the events."""
        while await self._next_batch() is not None:
            continue
        return self.verdict

    async def start(self) -> None:
        """Start it, if it is not yet; Fail when it cannot be."""
        if self._chain is not None:
            return
        session = self._session
        descriptions = [await adescribe(source) for source in session.must_describe]
        chain = session.open(asyncio.get_running_loop(), self._channel, descriptions)
        if chain.failure is not None:
            self._chain = chain
            if not chain.done:
                await self._settle()
            self._stages = ()
            raise chain.failure
        self._chain = chain
        self._channel.pause = chain.pause
        self._channel.resume = chain.resume

    def cancel(self, cause: str = CANCELLED) -> None:
        """Ask the tool to end (SIGINT, then SIGTERM, then SIGKILL). Go on iterating to see its last words."""
        if self._chain is not None:
            self._chain.cancel(cause)

    async def aclose(self, cause: str = CANCELLED) -> None:
        """End it now, if it has not ended, and wait for that: at most the graces."""
        if self._chain is None or self._stages is not None:
            return
        if not self._chain.done:
            self._chain.cancel(cause)
        self._channel.discard()
        try:
            await self._settle()
        finally:
            if not self._channel.dropped:
                while (chunk := self._channel.take()) is not None:
                    self._session.judge.deliver(self._session.judge.read(chunk))
            self._conclude()

    async def _next_batch(self) -> list[Event] | None:
        """The events of the next chunk, perhaps none; None at the end."""
        await self.start()
        if self._stages is not None:
            return None
        while not self._channel.ready:
            self._changed.clear()
            await self._changed.wait()
        chunk = self._channel.take()
        judge = self._session.judge
        events = await self._valid(judge.close() if chunk is None else judge.read(chunk))
        if chunk is None:
            self._conclude()
            return events or None
        if self._session.is_pointless:
            self.cancel()
        return events

    async def _valid(self, events: list[Event]) -> list[Event]:
        source = self._session.source_asked()
        if source is not None:
            description: Description | Fail
            try:
                description = await adescribe(source, refresh=self._session.judge.stale)
            except Fail as problem:
                description = problem
            self._session.answer(description)
        return self._session.judge.deliver(events)

    async def _settle(self) -> None:
        """Wait for the end. A cancellation of the waiting task takes effect, but only after the group is gone."""
        cancelled: asyncio.CancelledError | None = None
        while not self._channel.finished:
            self._changed.clear()
            try:
                await self._changed.wait()
            except asyncio.CancelledError as error:
                cancelled = error
                if self._chain is not None:
                    self._chain.kill()
        if cancelled is not None:
            raise cancelled

    def _conclude(self) -> None:
        if self._chain is not None and self._stages is None:
            self._stages = self._session.conclude(self._chain, unread=self._channel.dropped)
            self._session.tell_observer(self._stages)
            self._session.raise_callback_error()
