"""Commands written as coroutines or async generators, driven one value at a time on a loop of their own.

The whole generator runs in one task, because timeouts, task groups and cancel scopes belong to the task that entered
them. The task stops after each value until the next one is asked for. It is always ended by cancelling it on the
running loop, so that the author's `finally` blocks may wait for things.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any


def drain(produced: Any) -> Generator[Any, None, None]:
    """The values of an async generator, or of what a coroutine returns, as an ordinary iterator."""
    with asyncio.Runner() as runner:
        if hasattr(produced, "__await__"):
            produced = runner.run(_awaited(produced))
        if hasattr(produced, "__anext__"):
            yield from _Relay(runner.get_loop()).values(produced)
        elif isinstance(produced, dict) or not hasattr(produced, "__iter__"):
            yield from () if produced is None else (produced,)
        else:
            yield from produced


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


class _Relay:
    """Hands values over from a task to code outside of the loop, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._value: asyncio.Future[Any] = loop.create_future()
        self._wanted: asyncio.Future[None] = loop.create_future()
        self._closing = False

    def values(self, source: Any) -> Generator[Any, None, None]:
        task = self._loop.create_task(self._run(source))
        task.add_done_callback(self._ended)
        try:
            while True:
                value = self._loop.run_until_complete(self._value)
                if task.done():
                    break
                self._value, wanted = self._loop.create_future(), self._wanted
                yield value
                wanted.set_result(None)
        finally:
            self._closing = True
            if not task.done():
                task.cancel()
                self._loop.run_until_complete(asyncio.wait({task}))
        if not task.cancelled():
            task.result()

    async def _run(self, source: Any) -> None:
        try:
            async for value in source:
                if self._closing:
                    return
                self._wanted = self._loop.create_future()
                self._value.set_result(value)
                await self._wanted
        finally:
            close = getattr(source, "aclose", None)
            if close is not None:
                await close()

    def _ended(self, _task: asyncio.Task[None]) -> None:
        if not self._value.done():
            self._value.set_result(None)
