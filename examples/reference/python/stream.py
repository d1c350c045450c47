"""The output side of an AOI tool: events as lines, the counts for the summary, signals, and readers that go away.

Theory of operation. SIGINT and SIGTERM are blocked, except inside `interruptible()`, which stands around every wait: for
room in the output, for input, for the lock, for time. So a signal never falls between writing an event and counting it, nor
into the replacement of the store; and a tool that waits can always be interrupted. Every event is written when it happens.
"""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

Event = dict[str, Any]

EXIT = {
    "usage": 64,
    "validation": 65,
    "not_found": 65,
    "conflict": 65,
    "partial": 65,
    "internal": 70,
    "io": 74,
    "temporary": 75,
    "config": 78,
}
READER_GONE = 141
# A pipe that is ready takes this much without blocking (POSIX).
ATOMIC = select.PIPE_BUF
_STOPPING = {signal.SIGINT, signal.SIGTERM}


class Fail(Exception):  # noqa: N818 - reads as a verb where it is raised
    """A failure of the whole run; `event` is what is printed of it."""

    def __init__(self, category: str, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.category = category
        retryable = category == "temporary"
        self.event: Event = {
            "type": "aoi:error",
            "category": category,
            "code": code,
            "message": message,
            "retryable": retryable,
            **details,
        }


class Interrupted(BaseException):
    """A signal asked us to stop; not an Exception, so that no `except Exception` swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stream:
    """One run as its reader sees it."""

    def __init__(self, tool: str, version: str) -> None:
        self.tool = tool
        self._version = version
        self._began = time.monotonic()
        self._cut = False  # the reader has got only a part of the last line
        self.count = self.warnings = self.errors = 0

    def meta(self, command: str | None, **extra: object) -> None:
        named = {} if command is None else {"command": command}
        self.send(
            {
                "type": "aoi:meta",
                "tool": self.tool,
                "tool_version": self._version,
                "aoi_version": "0.2",
                "schema_name": "com.example.items.events",
                "schema_version": "1.0.0",
                **named,
                **extra,
            }
        )

    def send(self, event: Event) -> None:
        """Write an event at once, and count it."""
        self._write(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        match event["type"]:
            case "aoi:error":
                self.errors += 1
            case "aoi:warning":
                self.warnings += 1
            case "aoi:meta" | "aoi:heartbeat" | "aoi:summary":
                pass
            case _:
                self.count += 1

    def finish(
        self,
        *,
        ok: bool,
        partial: bool = False,
        next_cursor: str | None = None,
        **extra: object,
    ) -> None:
        """Write the terminal summary."""
        self.send(
            {
                "type": "aoi:summary",
                "ok": ok,
                "count": self.count,
                "warning_count": self.warnings,
                "error_count": self.errors,
                "partial": partial,
                "truncated": next_cursor is not None,
                "next_cursor": next_cursor,
                "elapsed_ms": int((time.monotonic() - self._began) * 1000),
                **extra,
            }
        )

    def interrupted(self, number: int) -> NoReturn:
        """End as a signal asks, with a summary if the reader takes it within a second."""
        status = 128 + number
        signal.signal(signal.SIGALRM, lambda *_: os._exit(status))
        signal.alarm(1)
        if not self._cut:
            self.finish(ok=False, partial=True, reason="interrupted")
        os._exit(status)

    def text(self, text: str) -> None:
        self._write(text.encode())

    def _write(self, data: bytes) -> None:
        try:
            while data:
                with interruptible():
                    select.select([], [1], [])
                data = data[os.write(1, data[:ATOMIC]) :]
                self._cut = bool(data)
        except BrokenPipeError:
            os._exit(READER_GONE)
        except OSError as error:
            print(f"{self.tool}: cannot write: {error.strerror}", file=sys.stderr)
            os._exit(EXIT["io"])


def take_signals() -> None:
    """From here on signals wait for the next `interruptible()`."""

    def stop(number: int, _frame: object) -> NoReturn:
        for other in _STOPPING:  # the first signal decides
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    for number in _STOPPING:
        signal.signal(number, stop)


@contextmanager
def interruptible() -> Iterator[None]:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)  # raises at once what has been waiting
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
