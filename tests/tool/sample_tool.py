"""A tool for the tests that reads: it emits, pollutes, fails, forks, asks and leaks on demand."""

from __future__ import annotations

import os
import sys
import time

from operable.tool import Check, Context, Event, Fail, ItemError, Page, Progress, Tool, Warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any, Literal

tool = Tool(
    "sample",
    version="1.2.3",
    schema_name="com.example.sample.events",
    summary="For the tests.",
)


class Hit(Event):
    """One result."""

    rank: int
    title: str = ""


class Said(Event):
    """Some text, as it is."""

    text: Any


def pass_gate(gate: str) -> None:
    """Wait until the test lets us through: one byte from a fifo."""
    descriptor = os.open(gate, os.O_RDONLY)
    try:
        os.read(descriptor, 1)
    finally:
        os.close(descriptor)


# -- streams -----------------------------------------------------------------------------------------------------------


@tool.command(cursor="rank", limit=100)
def count(*, times: int = 5, title: str = "", page: Page) -> Iterator[Hit]:
    """Count up to a number, page by page."""
    last = times if page.fetch is None else min(times, (page.after or 0) + page.fetch)
    for rank in range((page.after or 0) + 1, last + 1):
        yield Hit(rank=rank, title=title)


@tool.command(limit=None)
def endless(*, title: str = "") -> Iterator[Hit]:
    """Count as fast as possible, for ever."""
    rank = 0
    while True:
        rank += 1
        yield Hit(rank=rank, title=title)


@tool.command(limit=None)
def bursts(*, times: int = 3, size: int = 1, gate: str) -> Iterator[Hit]:
    """Emit some events at once, then wait at the gate; several times."""
    for burst in range(times):
        for index in range(size):
            yield Hit(rank=burst * size + index)
        pass_gate(gate)


@tool.command(limit=None)
def stutter(*, times: int) -> Iterator[Hit]:
    """Emit with irregular tiny pauses, so that both threads want to write all the time."""
    for rank in range(times):
        yield Hit(rank=rank, title="x" * (rank % 97))
        if rank % 50 == 0:
            time.sleep(0.0005 * (rank % 7))


@tool.command(limit=None)
def forks(*, how: Literal["multiprocessing", "fork", "exit", "stay"]) -> Iterator[Hit]:
    """Fork in the middle of a stream that is still buffered."""
    yield Hit(rank=1)
    yield Hit(rank=2)
    if how == "multiprocessing":
        import multiprocessing

        with multiprocessing.get_context("fork").Pool(3) as pool:
            pool.map(abs, range(30))
    elif os.fork() == 0:
        if how == "exit":
            sys.exit(0)
        if how == "stay":
            time.sleep(600)
        os._exit(0)
    elif how != "stay":
        os.wait()
    yield Hit(rank=3)


@tool.command()
def pollute() -> Iterator[Hit]:
    """Write to stdout in every way that there is."""
    import ctypes
    import subprocess

    yield Hit(rank=1)
    print("by print")
    sys.stdout.buffer.write(b"by buffer\n")
    os.write(1, b"by descriptor\n")
    libc = ctypes.CDLL(None)
    libc.puts(b"by libc")
    libc.fflush(None)
    subprocess.run(["/bin/sh", "-c", "echo by child; cat"], check=True)
    yield Hit(rank=2)


@tool.command(name="framework")
def framework_() -> Iterator[Hit | Warn | Progress | ItemError]:
    """Emit what is not a result, too."""
    yield Warn("ODD", "something odd", target="n1")
    yield Progress(done=1, total=2)
    yield Hit(rank=1)
    yield ItemError(Fail("not_found", "NO_SUCH_NOTE", "no such note", target="n2"))
    yield Hit(rank=2)


@tool.command()
def verbatim(*texts: str) -> Iterator[Said]:
    """Say the given texts, with their escapes undone."""
    for text in texts:
        yield Said(text=text.encode().decode("unicode_escape"))


@tool.command()
def value(*, how: Literal["dict", "none", "list", "coroutine", "nothing"] = "dict") -> Any:
    """Return instead of yield."""
    one = {"type": "said", "text": how}
    if how == "coroutine":

        async def later() -> None:
            return None

        return later()
    return {"dict": one, "none": None, "list": [one, Said(text=how)], "nothing": []}[how]


@tool.command()
async def slowly(*, times: int = 3) -> AsyncIterator[Hit]:
    """Count with asyncio."""
    import asyncio

    for rank in range(1, times + 1):
        await asyncio.sleep(0)
        yield Hit(rank=rank)


# -- failures ----------------------------------------------------------------------------------------------------------


class _Unspeakable(Exception):  # noqa: N818 - for the tests
    def __str__(self) -> str:
        raise ValueError("cannot be said")


def _raise(how: str, detail: str) -> None:
    if how == "bug":
        local: dict[str, int] = {}
        print(local[detail])
    if how == "secret":
        raise ValueError(f"Authorization: Bearer {detail}")
    if how == "exit":
        sys.exit(int(detail))
    if how == "exit-text":
        sys.exit(detail)
    if how == "os":
        os.stat(detail)
    if how == "odd-fail":
        raise Fail("internal", "ODD", "odd", exit_code=int(detail or "0"), thing=object())
    kinds: dict[str, BaseException] = {
        "eof": EOFError("Ran out of input"),
        "unspeakable": _Unspeakable(),
        "keyboard": KeyboardInterrupt(),
        "forbidden": PermissionError(13, "Permission denied", "/root/x"),
        "timeout": TimeoutError("too slow"),
        "connection": ConnectionRefusedError(111, "Connection refused"),
        "system": SystemError("broken"),
        "generator": GeneratorExit(),
        "stop": StopIteration(),
        "group": ExceptionGroup("several", [ValueError("one")]),
    }
    raise kinds[how]


@tool.command()
def fails(category: str, *, how: str = "fail", detail: str = "", after: int = 1) -> Iterator[Hit]:
    """Fail after some results."""
    for rank in range(after):
        yield Hit(rank=rank)
    if how == "fail":
        raise Fail(category, "ON_PURPOSE", "it failed", hint="do not", target="t1", extra=1)
    _raise(how, detail)


@tool.command()
def wrong(*, what: Literal["class", "type", "number", "prefix"]) -> Iterator[Any]:
    """Yield what is no event."""
    yield Hit(rank=1)
    yield {"class": 42, "type": {"a": 1}, "number": Hit(rank=float("nan")), "prefix": {"type": "aoi:x"}}[what]  # type: ignore[arg-type]


# -- people ------------------------------------------------------------------------------------------------------------


@tool.command()
def asks(*, how: Literal["input", "ask", "password", "getpass", "child"], context: Context) -> Iterator[Said]:
    """Need a person."""
    if how == "input":
        answer = input("name? ")
    elif how == "getpass":
        from getpass import getpass

        answer = getpass("password? ")
    elif how == "child":
        import subprocess

        script = "read line < /dev/tty && echo $line"
        answer = subprocess.run(["/bin/sh", "-c", script], check=False, capture_output=True, text=True).stdout
    else:
        answer = context.ask("name?", hint="sample login", secret=how == "password")
    yield Said(text=answer)


@tool.command(columns=("rank", "title"))
def table(*, rows: int = 3, title: str = "t", fail: bool = False) -> Iterator[Hit | Progress | Warn]:
    """Show a table."""
    yield Progress(done=0, total=rows)
    for rank in range(rows):
        yield Hit(rank=rank, title=title.encode().decode("unicode_escape"))
    yield Warn("ODD", "something \x1b[31modd")
    if fail:
        raise Fail("not_found", "NO_NOTE", "no \x1b[31mnote", hint="look \x1b]0;x\x07elsewhere")


@tool.command(secrets=("pin",))
def leaks(
    password: str = "",
    *,
    api_token: str = "",
    pin: str = "",
    account_key: int = 0,
    how: Literal["event", "error", "crash", "warning", "usage"] = "event",
) -> Iterator[Said | Warn]:
    """Leak what must not be shown."""
    everything = f"{password} {api_token} {pin} {account_key}"
    if how == "event":
        yield Said(text={"nested": [everything], "number": account_key})
    elif how == "warning":
        yield Warn("LEAK", everything)
    elif how == "error":
        raise Fail("internal", "LEAK", everything, hint=everything, target=everything, more=everything)
    else:
        raise ValueError(everything)


@tool.check("pulse")
def pulse() -> Check:
    return Check(ok=True, detail="alive")


if __name__ == "__main__":
    tool.main()
