"""Run a command to its end and keep a bounded amount of what it printed: for short answers, not for streams.

Used for discovery (`TOOL schema`) and by whoever needs one document from a program. Sync and async twins with the same
limits: a deadline always, and an output beyond `limit` ends the command instead of being cut silently. Who gives `heed`
gets each chunk as it comes, and nothing is kept; False from it ends the command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.proc.child import Child, End, Stdin
from operable.proc.reactor import SelectorReactor

if TYPE_CHECKING:
    from operable.proc.ladder import Graces
    from operable.proc.reactor import Reactor
    from operable.proc.spawn import Command

# Discovery is local and network-free by contract; ten seconds are a cold start on a very slow disk.
TIMEOUT = 10.0
# The largest published schemas of command-line tools are below 2 MB.
LIMIT = 16 * 1024 * 1024
Heed = Callable[[bytes], bool]


class Output(NamedTuple):
    """What a finished command left. `status` follows subprocess: negative means killed by that signal."""

    stdout: bytes
    stderr: str
    status: int | None


def output(
    command: Command,
    *,
    stdin: Stdin = None,
    timeout: float = TIMEOUT,
    limit: int = LIMIT,
    graces: Graces | None = None,
    heed: Heed | None = None,
) -> Output:
    """Run and wait. Fail timeout/DEADLINE_EXCEEDED or validation/OUTPUT_TOO_LARGE; the exit status is for the caller."""
    reactor = SelectorReactor()
    capture = _Capture(limit, heed)
    try:
        capture.start(reactor, command, stdin, timeout, graces)
        reactor.run(lambda: capture.end is not None)
    except BaseException:
        if capture.child is not None:
            capture.child.kill()
            reactor.run(lambda: capture.end is not None)
        raise
    finally:
        reactor.close()
    return capture.result(command, timeout)


async def aoutput(
    command: Command,
    *,
    stdin: Stdin = None,
    timeout: float = TIMEOUT,
    limit: int = LIMIT,
    graces: Graces | None = None,
    heed: Heed | None = None,
) -> Output:
    """`output` for asyncio. Cancelling the task kills the group before the cancellation goes on."""
    import asyncio

    loop = asyncio.get_running_loop()
    capture = _Capture(limit, heed)
    ended = asyncio.Event()
    capture.on_end = ended.set
    child = capture.start(loop, command, stdin, timeout, graces)
    try:
        await ended.wait()
    except asyncio.CancelledError:
        child.kill()
        await ended.wait()
        raise
    return capture.result(command, timeout)


class _Capture:
    def __init__(self, limit: int, heed: Heed | None) -> None:
        self.limit, self.heed = limit, heed
        self.chunks: list[bytes] = []
        self.size = 0
        self.end: End | None = None
        self.child: Child | None = None
        self.on_end: Callable[[], None] | None = None

    def start(
        self, reactor: Reactor, command: Command, stdin: Stdin, timeout: float, graces: Graces | None
    ) -> Child:
        self.child = Child(
            reactor,
            command,
            on_stdout=self.took,
            on_end=self.ended,
            stdin=stdin,
            timeout=timeout,
            graces=graces,
        )
        return self.child

    def took(self, chunk: bytes) -> None:
        if self.heed is not None:
            if not self.heed(chunk) and self.child is not None:
                self.child.terminate("enough")
            return
        self.size += len(chunk)
        if self.size <= self.limit:
            self.chunks.append(chunk)
        elif self.child is not None:
            self.chunks.clear()
            self.child.kill("limit")

    def ended(self, end: End) -> None:
        self.end = end
        if self.on_end is not None:
            self.on_end()

    def result(self, command: Command, timeout: float) -> Output:
        name = command.argv[0]
        if self.size > self.limit:
            raise Fail(
                "validation", "OUTPUT_TOO_LARGE", f"{name} printed more than {self.limit} bytes", target=name
            )
        if self.end is None or self.end.cause == "deadline":
            raise Fail(
                "timeout",
                "DEADLINE_EXCEEDED",
                f"{name} did not end within {timeout:g} s",
                target=name,
                exit_code=EX_TIMEOUT,
            )
        return Output(b"".join(self.chunks), self.end.stderr.text(), self.end.status)
