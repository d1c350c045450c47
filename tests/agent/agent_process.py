"""A real `operable-agent --json-stream`, driven line by line; every wait is bounded."""

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

LIMIT = 200.0  # seconds; below pytest's own, so that the reason is shown
_MAIN = "from operable.agent.front import main; main()"
Event = dict[str, Any]


class AgentProcess:
    """One process; `events` are all that it has said so far."""

    def __init__(
        self,
        workspace: Path,
        *options: str,
        env: Mapping[str, str] | None = None,
        offline: bool = True,
        stdout: int | None = None,
        before: str = "",  # Python that runs in the process before everything else
    ) -> None:
        argv = [sys.executable, "-c", before + _MAIN, "--json-stream", "--workspace", str(workspace)]
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC_", "OPENAI_")) and name not in ("API_KEY", "PROVIDER", "MODEL")
        }
        self.process = subprocess.Popen(
            [*argv, *(["--offline"] if offline else []), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE,
            env={**environment, **(env or {})},
        )
        self.events: list[Event] = []
        self.stderr = b""
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._read_errors, daemon=True)]
        if stdout is None:
            self._threads.append(threading.Thread(target=self._read_lines, daemon=True))
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        for thread in self._threads:
            thread.join(LIMIT)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # what was still to be written has nobody to read it

    def send(self, command: Mapping[str, Any]) -> None:
        self.raw(json.dumps(command).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def message(self, text: str, msg_id: str = "m1") -> None:
        self.send({"type": "message", "msg_id": msg_id, "content": text})

    def script(self, *steps: str, msg_id: str = "m1") -> None:
        """A message that the offline model plays."""
        self.message("\n".join(["script:", *steps]), msg_id)

    def next(self) -> Event:
        """The next event. Every line must be one JSON object with a type."""
        line = self._lines.get(timeout=LIMIT)
        assert line, f"the agent has ended with {self.process.wait(LIMIT)}: {self.stderr.decode()[-2000:]}"
        assert line.endswith(b"\n")
        event: Event = json.loads(line)
        assert isinstance(event["type"], str)
        self.events.append(event)
        return event

    def until(self, what: str | Callable[[Event], bool]) -> Event:
        """Read on to the first event of this type, or for which this is true."""
        while True:
            event = self.next()
            if event["type"] == what if isinstance(what, str) else what(event):
                return event

    def answer(self, msg_id: str = "m1") -> list[Event]:
        """Read on to the end of this message; its events."""
        first = len(self.events)
        self.until(lambda event: event["type"] == "stream_end" and event["msg_id"] == msg_id)
        return self.events[first:]

    def approve(self, call_id: str, scope: str = "once") -> None:
        self.send({"type": "tool_approve", "call_id": call_id, "scope": scope})

    def ping(self) -> None:
        """Everything that was sent before has been dealt with, as far as the main thread is concerned."""
        self.send({"type": "ping"})
        self.until("pong")

    def end(self) -> int:
        """Close stdin, read what is left, and wait; the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        status = self.process.wait(LIMIT)
        for thread in self._threads:
            thread.join(LIMIT)
        while not self._lines.empty():
            if line := self._lines.get():
                self.events.append(json.loads(line))
        return status

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.stderr = self.process.stderr.read()


def text_in(path: Path) -> str:
    """What is in a file, as soon as there is something."""
    deadline = time.monotonic() + LIMIT
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, path
        select.select([], [], [], 0.01)
    return path.read_text()


def said(events: list[Event]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "text_delta")


def of_type(events: list[Event], *types: str) -> list[Event]:
    return [event for event in events if event["type"] in types]


def problems(events: list[Event]) -> list[tuple[str, str]]:
    return [
        (event["error"]["code"], event["error"]["message"]) for event in events if event["type"] == "error"
    ]
