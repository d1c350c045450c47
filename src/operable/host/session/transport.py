"""The agent's process as a source of lines: one run of it, from spawn to the last line and the exit status.

`Process` joins a supervised child with the line splitter: whole lines of a chunk are handed on together, so that their
receiver can write once per chunk. A line beyond LINE_LIMIT ends the run: a protocol that lost a line cannot go on. So does
an agent that asks, and does not read the answers (INPUT_LIMIT). How an agent is asked to leave is also here: end of input
first (most real agents leave within two seconds of it), then SIGTERM, five seconds later SIGKILL, to the whole tree
(AIP-45, "Lifecycle").

`Transport` is what a link needs of a process; `operable.host.http.transport` has another.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from operable.kernel.redact import Redactor
from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.tree.escalation import Graces
from operable.wire.lines import LineSplitter

# The longest line that real agents were seen to print is 561 KB; a replayed conversation with images is tens of MB.
LINE_LIMIT = 32 * 1024 * 1024
# What may wait for an agent that does not read its input; a single message may be longer.
INPUT_LIMIT = 32 * 1024 * 1024
INPUT_MESSAGES = 10_000
# Real agents leave within 0.5 s (most) to 2 s of the end of their input.
EOF_GRACE = 2.0
TERM_GRACE = 5.0
# How much of stderr travels with an error: enough for a traceback.
STDERR_SHOWN = 4000
# Between the end of the output and the exit of a process that is about to leave are milliseconds. One that lives on longer
# cannot say anything any more: a caller that waits for it would wait until another limit.
SILENT_GRACE = 0.5


class Transport(Protocol):
    """Where lines come from and go to, and how that ends."""

    end: ChildEnd | None
    fault: tuple[str, str] | None  # why the host ended it: a code and a text

    @property
    def pid(self) -> int: ...
    def write(self, data: bytes) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def end_input(self) -> None: ...
    def interrupt(self, cause: str) -> None: ...
    def kill(self, cause: str) -> None: ...
    async def leave(self, *, eof_grace: float) -> None: ...
    async def ended(self) -> None: ...
    def stderr_text(self, redactor: Redactor) -> str: ...


class Process:
    """One run of an agent on stdio. `on_lines` gets the lines of a chunk; `on_end` is called once, after the last."""

    def __init__(
        self,
        command: PreparedCommand,
        *,
        on_lines: Callable[[list[bytes]], object],
        on_end: Callable[["Process"], object],
        stdin: bytes | None = None,
        keep_stdin: bool = True,
        line_limit: int = LINE_LIMIT,
        term_grace: float = TERM_GRACE,
    ) -> None:
        self.end: ChildEnd | None = None
        self.fault: tuple[str, str] | None = None
        self._on_lines = on_lines
        self._on_end = on_end
        self._splitter = LineSplitter(line_limit)
        self._ended = asyncio.Event()
        self._child = Child(
            asyncio.get_running_loop(),
            command,
            on_stdout=self._read,
            on_end=self._over,
            on_stdout_end=self._silent,
            stdin=OPEN if keep_stdin else stdin,
            graces=Graces(interrupt=2.0, terminate=term_grace),
        )

    @property
    def pid(self) -> int:
        return self._child.pid

    def write(self, data: bytes) -> None:
        stdin = self._child.stdin
        if not data or stdin is None:
            return
        if stdin.backlog > INPUT_LIMIT or stdin.waiting >= INPUT_MESSAGES:
            self._fail(
                "input_not_read", f"the agent does not read its input: {stdin.backlog:,} bytes wait for it"
            )
        else:
            stdin.write(data)

    def pause(self) -> None:
        """Read no more for now: the agent blocks in its next write once the pipe is full."""
        self._child.stdout.pause()

    def resume(self) -> None:
        self._child.stdout.resume()

    def end_input(self) -> None:
        """Nothing more will be written: agents that wait for it leave."""
        if self._child.stdin is not None:
            self._child.stdin.finish()

    def interrupt(self, cause: str) -> None:
        """Ask a one-turn process to stop: SIGINT, SIGTERM, SIGKILL."""
        self._child.cancel(cause)

    def kill(self, cause: str) -> None:
        self._child.kill(cause)

    async def leave(self, *, eof_grace: float) -> None:
        """Ask the agent to go, politely first, and wait until nothing of it is left."""
        self.resume()  # a full pipe would keep it from leaving
        self.end_input()
        if self.end is None:
            try:
                await asyncio.wait_for(self._ended.wait(), eof_grace)
            except TimeoutError:
                self._child.terminate("closed")
        await self._ended.wait()

    async def ended(self) -> None:
        await self._ended.wait()

    def stderr_text(self, redactor: Redactor, limit: int = STDERR_SHOWN) -> str:
        """What it wrote to stderr, redacted: the beginning and the end of it."""
        text = redactor.text(self._child.stderr.text().strip())
        if len(text) > limit:
            text = f"{text[: limit // 4]}\n[...]\n{text[-(limit - limit // 4) :]}"
        return text

    def _read(self, chunk: bytes) -> None:
        lines = self._splitter.feed(chunk)
        if lines:
            self._on_lines(lines)
        if self._splitter.error is not None:
            self._fail("line_too_long", str(self._splitter.error))

    def _fail(self, code: str, text: str) -> None:
        if self.fault is None:
            self.fault = (code, text)
            self.kill(code.replace("_", " "))

    def _silent(self) -> None:
        asyncio.get_running_loop().call_later(SILENT_GRACE, self._end_silent)

    def _end_silent(self) -> None:
        if self.end is None:
            self.kill("it closed its output")

    def _over(self, end: ChildEnd) -> None:
        if self._splitter.error is None:
            rest = self._splitter.eof()
            if rest:
                self._on_lines([rest])
        self.end = end
        self._ended.set()
        self._on_end(self)
