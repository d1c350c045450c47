"""Commands written as coroutines or async generators, driven one value at a time on a loop of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any


def drain(produced: Any) -> Iterator[Any]:
    """The values of an async generator, or of what a coroutine returns, as an ordinary iterator."""
    with asyncio.Runner() as runner:
        if hasattr(produced, "__await__"):
            result = runner.run(_awaited(produced))
            if not hasattr(result, "__anext__"):
                yield from (
                    result if hasattr(result, "__iter__") and not isinstance(result, dict) else [result]
                )
                return
            produced = result
        try:
            while True:
                try:
                    value = runner.run(_awaited(produced.__anext__()))
                except StopAsyncIteration:
                    return
                yield value
        finally:
            # Also after an interrupt: the author's `finally` blocks run before the loop is closed.
            runner.run(_awaited(produced.aclose()))


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
