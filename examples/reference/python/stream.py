"""The output side of an AOI tool: events as lines, their count, signals, and readers that go away.

SIGINT and SIGTERM are blocked, except inside `interruptible()`, which is around every wait. So a signal never falls
between writing an event and counting it, nor into the replacement of the store, and a tool that waits can be interrupted.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

Event = dict[str, Any]

TOOL = "ref-python"
VERSION = "1.4.0"
_TEXT = Path(__file__).with_name("contract.json").read_text("utf-8")
CONTRACT: dict[str, Any] = json.loads(_TEXT.replace("{tool}", TOOL).replace("{version}", VERSION))
EXIT: dict[str, int] = CONTRACT["capabilities"]["exit_codes"]
UNCOUNTED = ("aoi:meta", "aoi:error", "aoi:heartbeat", "aoi:summary")
SIGNALS = {signal.SIGINT, signal.SIGTERM}


class Fail(Exception):  # noqa: N818 - reads as a verb where it is raised
    """A failure of the whole run; `event` is what is printed of it."""

    def __init__(self, category: str, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.category = category
        told = {"category": category, "code": code, "message": message, "retryable": category == "temporary"}
        self.event: Event = {"type": "aoi:error", **told, **details}


class Interrupted(BaseException):
    """A signal asked us to stop; not an Exception, so that no `except Exception` swallows it."""


class Stream:
    """One run as its reader sees it."""

    def __init__(self) -> None:
        self.count = self.errors = 0
        self._cut = False  # the reader has got only a part of the last line

    def meta(self, command: str | None) -> None:
        versions = {"tool": TOOL, "tool_version": VERSION, "aoi_version": "0.2"}
        schema = {"schema_name": "com.example.items.events", "schema_version": "1.0.0"}
        self.send({"type": "aoi:meta", **versions, **schema, **({"command": command} if command else {})})

    def send(self, event: Event) -> None:
        """Write an event at once, and count it."""
        self.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
        self.errors += event["type"] == "aoi:error"
        self.count += event["type"] not in UNCOUNTED

    def finish(self, *, ok: bool, cursor: str | None = None, **more: object) -> None:
        """Write the terminal summary."""
        counts = {"count": self.count, "error_count": self.errors}
        page = {"truncated": cursor is not None, "next_cursor": cursor}
        self.send({"type": "aoi:summary", "ok": ok, **counts, **page, **more})

    def interrupted(self, number: int) -> NoReturn:
        """End as a signal asks, with a summary if the reader takes it within a second."""
        signal.signal(signal.SIGALRM, lambda *_: os._exit(128 + number))
        signal.alarm(1)
        if not self._cut:
            self.finish(ok=False, partial=True, reason="interrupted")
        os._exit(128 + number)

    def write(self, text: str) -> None:
        data = text.encode()
        try:
            while data:
                with interruptible():
                    select.select([], [1], [])
                written = os.write(1, data[: select.PIPE_BUF])  # so much a pipe that is ready takes at once
                data = data[written:]
                self._cut = bool(data)
        except BrokenPipeError:
            os._exit(EXIT["reader_gone"])
        except OSError as error:
            print(f"{TOOL}: cannot write: {error.strerror}", file=sys.stderr)
            os._exit(EXIT["io"])


def take_signals() -> None:
    """From here on signals wait for the next `interruptible()`; the first one decides."""

    def stop(number: int, _frame: object) -> NoReturn:
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    for number in SIGNALS:
        signal.signal(number, stop)


@contextmanager
def interruptible() -> Iterator[None]:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # raises at once what has been waiting
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
