"""A tool for the tests that does not end by itself, in many ways."""

from __future__ import annotations

import os
import sys
import time

from operable.tool import Event, Tool, interrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Literal

tool = Tool("stops", version="1.0.0", schema_name="com.example.stops.events")
# What is killed after its grace is killed soon here.
setattr(interrupt, "GRACE", float(os.environ.get("STOPS_GRACE", "0.5")))  # noqa: B010 - not part of its interface


class Step(Event):
    """How far it has come."""

    name: str


def _query() -> None:
    """Minutes in C code, without the interpreter's lock."""
    import sqlite3

    sqlite3.connect(":memory:").execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000000) SELECT count(*) FROM n"
    ).fetchone()


def _swallow() -> None:
    while True:
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            continue


def _busy() -> None:
    number = 0
    while True:
        number += 1


def _convert() -> None:
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        raise RuntimeError("the operation was aborted") from None


def _read() -> None:
    reading, _ = os.pipe()
    os.read(reading, 1)


def _handler() -> None:
    """Take the signal over, as some libraries do."""
    import signal

    def handle(_number: int, _frame: object) -> None:
        raise LookupError("handled by the author")

    signal.signal(signal.SIGTERM, handle)
    print("handler set", file=sys.stderr, flush=True)
    time.sleep(600)


class _Slow:
    def __del__(self) -> None:
        print("collected", file=sys.stderr, flush=True)
        time.sleep(600)


def _destructor() -> None:
    slow = _Slow()
    del slow
    time.sleep(600)


_WAYS = {
    "sleep": lambda: time.sleep(600),
    "busy": _busy,
    "query": _query,
    "swallow": _swallow,
    "convert": _convert,
    "read": _read,
    "handler": _handler,
    "destructor": _destructor,
}


@tool.command()
def hang(how: str) -> Iterator[Step]:
    """Emit, then never return from something."""
    yield Step(name="begun")
    try:
        yield Step(name="soon")
        _WAYS[how]()
        yield Step(name="never")
    finally:
        print("cleaned up", file=sys.stderr, flush=True)


@tool.command()
def stubborn() -> Iterator[Step]:
    """Swallow the interrupt, and go on yielding."""
    while True:
        yield Step(name="working")
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            yield Step(name="ignored it")


@tool.command(limit=None)
def flood(*, ready: str = "") -> Iterator[Step]:
    """More than a pipe holds."""
    for number in range(100_000):
        yield Step(name=f"{number:0100}")


@tool.command()
def imports(folder: str) -> Iterator[Step]:
    """Import something that takes its time, then work for long."""
    yield Step(name="begun")
    sys.path.insert(0, folder)
    import slow_module  # type: ignore[import-not-found]  # noqa: F401 - made by the test

    time.sleep(600)


@tool.command(limit=None)
def tidy() -> Iterator[Step]:
    """Endless, with something to put away that takes its time."""
    try:
        while True:
            yield Step(name="x" * 1000)
    finally:
        time.sleep(0.8)
        print("put away", file=sys.stderr, flush=True)


@tool.command()
def lump(*, size: int = 300_000) -> Iterator[Step]:
    """One line that no pipe holds, then the end."""
    yield Step(name="x" * size)


@tool.command(unbounded=True, heartbeat=0.1)
def watch(*, silent: bool = False) -> Iterator[Step]:
    """Wait for something that never happens."""
    if not silent:
        yield Step(name="begun")
    time.sleep(600)


@tool.command(unbounded=True, heartbeat=600.0)
def silence() -> Iterator[Step]:
    """Not even a heartbeat."""
    time.sleep(600)
    yield Step(name="never")


@tool.command(unbounded=True)
def ticks() -> Iterator[Step]:
    """No end, and fast."""
    while True:
        yield Step(name="tick")


@tool.command()
async def waits() -> AsyncIterator[Step]:
    """Wait with asyncio, with something to clean up."""
    import asyncio

    try:
        async with asyncio.timeout(500):
            yield Step(name="begun")
            yield Step(name="soon")
            await asyncio.sleep(600)
    finally:
        await asyncio.sleep(0)
        print("cleaned up", file=sys.stderr, flush=True)


class _Breaking:
    def __del__(self) -> None:
        raise LookupError("in a destructor")


def _break() -> None:
    raise LookupError("elsewhere")


@tool.command(limit=None)
def breaks() -> Iterator[Step]:
    """Endless; when it is ended, everything breaks that Python tells of by itself."""
    import asyncio
    import atexit
    import logging
    import threading

    atexit.register(_break)
    kept = _Breaking()
    loop = asyncio.new_event_loop()
    beside = threading.Thread(target=loop.run_forever, daemon=True)
    beside.start()
    try:
        while True:
            yield Step(name="x" * 1000)
    finally:
        del kept
        loop.call_soon_threadsafe(_break)
        loop.call_soon_threadsafe(asyncio.sleep, 0)  # a coroutine that nobody awaits
        loop.call_soon_threadsafe(loop.stop)
        beside.join()
        thread = threading.Thread(target=_break)
        thread.start()
        thread.join()
        logging.getLogger("author").warning("put away", exc_info=LookupError("in the log"))


@tool.command()
def lingers(*, how: Literal["thread", "atexit"]) -> Iterator[Step]:
    """End well, and leave something behind that does not."""
    yield Step(name="done")
    if how == "thread":
        import threading

        threading.Thread(target=time.sleep, args=(600,)).start()
    else:
        import atexit

        atexit.register(time.sleep, 600)


if __name__ == "__main__":
    tool.main()
