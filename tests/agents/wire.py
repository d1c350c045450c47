"""Talk to a real agent on its own wire and keep a cassette of it.

For the recorder and for looking at an agent by hand. What is specific to this machine (home, workspace, address of the model
server, key) is replaced when a cassette is saved, and long lists and texts that say nothing about the protocol (commands,
models, instructions) are shortened; everything else stays as the agent wrote it.
"""

import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from operable.testing.cassettes import AgentCassette, CassetteEntry, save

LIMIT = 90.0
LIST_LIMIT = 8
TEXT_LIMIT = 1500
_KEPT_LISTS = ("content", "entries", "prompt", "updates")


class Wire:
    def __init__(self, argv: list[str], env: dict[str, str], cwd: Path, *, stdin: bool = True) -> None:
        self.started = time.monotonic()
        self.entries: list[CassetteEntry] = []
        self.messages: list[Any] = []
        self.process = subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._rest = b""
        self._stderr = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(LIMIT)
        self._stderr.join(5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._keep("stderr", line.rstrip(b"\n"))

    def _keep(self, who: str, line: bytes) -> None:
        self.entries.append(CassetteEntry(round(time.monotonic() - self.started, 4), who, line))

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        line = json.dumps(message, separators=(",", ":")).encode()
        self._keep("host", line)
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def until(self, wanted: Callable[[Any], bool], timeout: float = LIMIT) -> Any:
        """The next message that is wanted; None at the end of stdout."""
        deadline = time.monotonic() + timeout
        while True:
            while self.messages:
                message = self.messages.pop(0)
                if wanted(message):
                    return message
            if not self._read(max(0.0, deadline - time.monotonic())):
                return None

    def _read(self, timeout: float) -> bool:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        if not ready:
            raise TimeoutError(f"nothing wanted came; the last lines: {self.entries[-3:]}")
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._keep("agent", line)
            try:
                self.messages.append(json.loads(line))
            except ValueError:
                pass  # noise is part of the recording, and nothing to wait for
        return bool(data)

    def finish(self) -> None:
        """Close stdin and read to the end, if it comes."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.until(lambda _: False, 10)
        except TimeoutError:
            pass  # some agents ignore the end of their input; `__exit__` ends them

    def save(self, path: Path, label: dict[str, Any], replacements: dict[str, str]) -> None:
        entries = [
            entry._replace(line=_tidied(entry.line, replacements, json_line=entry.dir != "stderr"))
            for entry in self.entries
        ]
        tidy = _tidied(json.dumps(label).encode(), replacements, json_line=True)
        save(path, AgentCassette(json.loads(tidy), entries))


def _tidied(line: bytes, replacements: dict[str, str], *, json_line: bool) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    for own, neutral in replacements.items():
        text = text.replace(own, neutral)
    if json_line:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        short = _shortened(value)
        if short != value:
            text = json.dumps(short, ensure_ascii=False, separators=(",", ":"))
    else:
        text = text[:300]
    return text.encode("utf-8", "surrogateescape")


def _shortened(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shortened(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        kept = value if key in _KEPT_LISTS or len(value) <= LIST_LIMIT else value[:2]
        return [_shortened(inner, key) for inner in kept]
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        return value[:100] + "…"
    return value
