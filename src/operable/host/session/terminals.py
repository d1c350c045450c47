"""One command that the host runs for an agent: its output, bounded, and its end.

Output and diagnostics are one stream, as on a terminal. Beyond the limit the beginning is dropped (as ACP wants it), at a
character boundary. No terminal device is behind it: programs see pipes and no input. Values that the agent must not have
are masked before they are kept, so that neither a cut nor the piece in which they come shows a part of them.
"""

import asyncio
import codecs
import signal
from collections.abc import Callable
from typing import Any

from operable.kernel.redact import Known
from operable.proc.child import Child, ChildEnd
from operable.proc.command import PreparedCommand


class ClientTerminal:
    """A running command on the caller's loop."""

    def __init__(
        self,
        command: PreparedCommand,
        limit: int,
        *,
        withheld: Known,
        on_end: Callable[["ClientTerminal"], object] = lambda _: None,
    ) -> None:
        self._limit = limit
        self._on_end = on_end
        self._kept = bytearray()
        self._truncated = False
        self._end: ChildEnd | None = None
        self._ended = asyncio.Event()
        self._pipes = (_Pipe(withheld), _Pipe(withheld))
        self._child = Child(
            asyncio.get_running_loop(),
            command,
            on_stdout=lambda chunk: self._read(chunk, self._pipes[0]),
            on_stderr=lambda chunk: self._read(chunk, self._pipes[1]),
            on_end=self._over,
        )

    @property
    def ended(self) -> bool:
        return self._end is not None

    def output(self) -> dict[str, Any]:
        self._cut()
        text = self._kept.decode("utf-8", "ignore" if self._truncated else "replace")
        found: dict[str, Any] = {"output": text, "truncated": self._truncated}
        status = self.exit_status()
        return found if status is None else {**found, "exitStatus": status}

    def exit_status(self) -> dict[str, Any] | None:
        if self._end is None:
            return None
        status = self._end.status
        if status is not None and status < 0:
            return {"exitCode": None, "signal": signal.Signals(-status).name}
        return {"exitCode": status, "signal": None}

    def kill(self) -> None:
        if self._end is None:
            self._child.kill("terminal closed")

    async def wait(self) -> None:
        await self._ended.wait()

    def _read(self, chunk: bytes, pipe: "_Pipe") -> None:
        self._kept += pipe.feed(chunk)
        if len(self._kept) > 2 * self._limit:  # not at every chunk: moving the rest costs
            self._cut()

    def _cut(self) -> None:
        surplus = len(self._kept) - self._limit
        if surplus > 0:
            del self._kept[:surplus]
            self._truncated = True

    def _over(self, end: ChildEnd) -> None:
        for pipe in self._pipes:
            self._kept += pipe.flush()
        self._end = end
        self._ended.set()
        self._on_end(self)


class _Pipe:
    """One of the two streams of a command, masked. Bytes that are not text pass as they are."""

    def __init__(self, withheld: Known) -> None:
        self._mask = withheld.stream()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, chunk: bytes) -> bytes:
        return self._mask.feed(self._decoder.decode(chunk)).encode("utf-8", "surrogateescape")

    def flush(self) -> bytes:
        rest = self._mask.feed(self._decoder.decode(b"", final=True)) + self._mask.flush()
        return rest.encode("utf-8", "surrogateescape")
