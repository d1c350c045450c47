"""What a voice of the scripted agent and its player share: the three things that a host can say, and the two pipes."""

import json
import os
import select
import time
from typing import Any, NamedTuple, Protocol

from operable.testing.script import Step
from operable.wire.lines import LineSplitter


class HostPrompt(NamedTuple):
    """The host wants a turn; `token` is the voice's own word for which one."""

    text: str
    token: Any


class HostCancel(NamedTuple):
    """The host wants the running turn to end."""


class HostAnswer(NamedTuple):
    """The host answers something that we asked."""

    question: Any
    verdict: str
    """`allow`, `deny`, `cancel`, or `result` for what is not a permission"""
    detail: Any = None


Input = HostPrompt | HostCancel | HostAnswer | None


class Voice(Protocol):
    """One protocol: turns messages into inputs, and what the player does into messages."""

    def opened(self) -> None: ...
    def receive(self, message: Any) -> Input: ...
    def malformed(self) -> None: ...
    def begin(self, token: Any) -> None: ...
    def say(self, text: str) -> Any: ...
    def think(self, text: str) -> Any: ...
    def plan(self, entries: Any) -> Any: ...
    def usage(self, fields: Any) -> Any: ...
    def call(self, call_id: str, step: Step) -> Any: ...
    def ask(self, call_id: str, step: Step) -> Any: ...
    def running(self, call_id: str, step: Step) -> Any: ...
    def result(self, call_id: str, step: Step, verdict: str, detail: Any) -> Any: ...
    def request(self, method: str, params: Any) -> Any: ...
    def error(self, message: str, code: Any) -> None: ...
    def end(self, reason: str) -> None: ...


class StandardStreams:
    """Standard input and output as bytes, without buffers that could hold something back."""

    def __init__(self, eof: str) -> None:
        self._at_eof = eof
        self._open = True
        self._lines = LineSplitter()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(1, view) :]
            except BrokenPipeError:
                if self._at_eof != "ignore":
                    raise SystemExit(0) from None
                return

    def send(self, message: Any) -> None:
        self.write(line_of(message))

    def lines(self, timeout: float | None) -> list[bytes]:
        """The lines that are there, or that come within the time; without input left, only time passes."""
        if not self._open:
            if timeout is None and self._at_eof == "finish":
                raise SystemExit(0)
            time.sleep(3600 if timeout is None else timeout)
            return []
        ready, _, _ = select.select([0], [], [], timeout)
        if not ready:
            return []
        data = os.read(0, 1 << 20)
        if not data:
            self._open = False
            if self._at_eof == "exit":
                raise SystemExit(0)
            return []
        return [line for line in self._lines.feed(data) if line.strip()]


def line_of(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
