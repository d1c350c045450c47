"""Talk to a process in JSON lines, with a limit on every wait."""

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any, Self

LIMIT = 200
"""Seconds; far more than any answer needs, so that only a hang reaches it."""


class Conversation:
    def __init__(self, argv: list[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        self._rest = b""
        self.lines: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=LIMIT)

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hang_up(self) -> None:
        """Close its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def line(self) -> bytes:
        """The next line of stdout; b"" at its end."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + LIMIT
        while not self.lines:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"nothing came within {LIMIT} s"
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return b""
            *self.lines, self._rest = (self._rest + data).split(b"\n")
        return self.lines.pop(0)

    def until(self, wanted: Callable[[Any], bool]) -> list[Any]:
        """The messages up to the first one that is wanted, which is the last of them."""
        seen: list[Any] = []
        while not seen or not wanted(seen[-1]):
            line = self.line()
            assert line, f"stdout ended after {seen[-3:]}"
            seen.append(json.loads(line))
        return seen
