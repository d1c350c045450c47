"""A link without a process: the scripted agent on a thread of this process, connected by queues.

It implements the `Transport` of a link, so that a session cannot tell it from a process; signals and pipes are for the
tests that start one. What would end a process ends the thread, with the same status.
"""

import asyncio
import queue
import threading
from contextlib import suppress
from typing import Any

from operable.host.session.transport import LINE_LIMIT, STDERR_SHOWN
from operable.kernel.catalogue import load
from operable.kernel.redact import Redactor
from operable.proc.child import ChildEnd
from operable.proc.excerpt import Excerpt
from operable.testing.player import Player
from operable.testing.stage import line_of
from operable.wire.lines import LineSplitter

KILLED, TERMINATED = -9, -15


class PeerExit(Exception):  # noqa: N818 - not a failure: how a peer ends
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class MemoryAgent:
    """One run of a scripted agent. `on_lines` gets the lines of a chunk; `on_end` is called once, after the last."""

    def __init__(self, script: dict[str, Any], protocol: str, on_lines, on_end) -> None:
        assert "term" not in script, "signals need a process"
        self.end: ChildEnd | None = None
        self.fault: tuple[str, str] | None = None
        self.stderr = ""
        self.input: queue.SimpleQueue[bytes | int] = queue.SimpleQueue()  # a number ends it, with that status
        self._on_lines, self._on_end = on_lines, on_end
        self._splitter = LineSplitter(LINE_LIMIT)
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._paused: list[bytes] | None = None
        self._cause: str | None = None
        self._player = MemoryPlayer(script, load("operable.testing.voices", protocol, "VOICE", kind="voice"))
        self._player.stage = MemoryStage(self, script.get("eof", "exit"))
        threading.Thread(target=self._play, daemon=True, name="memory-agent").start()

    @property
    def pid(self) -> int:
        raise AssertionError("there is no process: start one for this test")

    def write(self, data: bytes) -> None:
        self.input.put(data)

    def pause(self) -> None:
        self._paused = [] if self._paused is None else self._paused

    def resume(self) -> None:
        held, self._paused = self._paused or [], None
        for chunk in held:
            self._loop.call_soon(self._read, chunk)

    def end_input(self) -> None:
        self.input.put(b"")

    def interrupt(self, cause: str) -> None:
        self.kill(cause)

    def kill(self, cause: str, status: int = KILLED) -> None:
        if self.end is None:
            self._cause = self._cause or cause
            self.input.put(status)

    async def leave(self, *, eof_grace: float) -> None:
        self.resume()
        self.input.put(b"")
        try:
            await asyncio.wait_for(self._ended.wait(), eof_grace)
        except TimeoutError:
            self.kill("closed", TERMINATED)
        await self._ended.wait()

    async def ended(self) -> None:
        await self._ended.wait()

    def stderr_text(self, redactor: Redactor) -> str:
        return redactor.text(self.stderr.strip())[-STDERR_SHOWN:]

    def said(self, chunk: bytes) -> None:
        """From the thread of the agent."""
        self._report(self._read, chunk)

    def _report(self, what, value) -> None:
        with suppress(RuntimeError):  # the loop is closed: the test is over, and nothing waits for this agent
            self._loop.call_soon_threadsafe(what, value)

    def _play(self) -> None:
        status = 1  # of a player that fails, which its thread then reports
        try:
            self._player.run()
        except PeerExit as exited:
            status = exited.status
        except SystemExit:
            status = 0
        finally:
            self._report(self._over, status)

    def _read(self, chunk: bytes) -> None:
        if self._paused is not None:
            self._paused.append(chunk)
        elif lines := self._splitter.feed(chunk):
            self._on_lines(lines)

    def _over(self, status: int) -> None:
        self.resume()
        self._loop.call_soon(self._conclude, status)

    def _conclude(self, status: int) -> None:
        rest = self._splitter.eof()
        if rest:
            self._on_lines([rest])
        self.end = ChildEnd(status, self._cause, 0.0, Excerpt())
        self._ended.set()
        self._on_end(self)


class MemoryStage:
    """What the player reads and writes, in place of its standard streams."""

    def __init__(self, agent: MemoryAgent, at_eof: str) -> None:
        self.agent = agent
        self._at_eof = at_eof
        self._lines = LineSplitter()

    def write(self, data: bytes) -> None:
        self.agent.said(data)

    def send(self, message: Any) -> None:
        self.write(line_of(message))

    def lines(self, timeout: float | None) -> list[bytes]:
        try:
            data = self.agent.input.get(timeout=timeout) if timeout != 0 else self.agent.input.get_nowait()
        except queue.Empty:
            return []
        if isinstance(data, int):
            raise PeerExit(data)
        if not data and self._at_eof == "exit":
            raise PeerExit(0)
        return [line for line in self._lines.feed(data) if line.strip()]


class MemoryPlayer(Player):
    """The verbs that are about a process, without one."""

    stage: Any

    def _play_stderr(self, text: str, _: Any) -> None:
        self.stage.agent.stderr += text + "\n"

    def _play_die(self, how: Any, _: Any) -> None:
        raise PeerExit(KILLED if isinstance(how, str) else int(how))

    def _play_mute(self, _: Any, __: Any) -> None:
        while not isinstance(data := self.stage.agent.input.get(), int):
            pass
        raise PeerExit(data)

    def _play_grandchild(self, seconds: float, step: Any) -> None:
        raise AssertionError("a grandchild needs a process")


def in_memory(script: dict[str, Any] | None = None, protocol: str = "json-stream"):
    """A way to connect to an agent that plays this script, for `Start.connect`."""

    def connect(on_lines, on_end):
        return MemoryAgent(script or {}, protocol, on_lines, on_end)

    return connect
