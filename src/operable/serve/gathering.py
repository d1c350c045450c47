"""What one call gave, on its way into a bounded result: a part that a model can read, and all of it in a file.

Results are kept up to a size; every one goes to the file, up to a limit, for whoever wants the rest. The file is gone with
the block unless the result names it.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from operable.serve.operables import Result
from operable.wire.framework import Error, Heartbeat, Meta, Open, Progress, Summary, Warning, encode  # noqa: A004

if TYPE_CHECKING:
    from operable.wire.verdict import Verdict

# About 12 000 tokens: what a model can be given at once. The rest is one read away.
KEPT = 50_000
SPOOL_LIMIT = 64 * 1024 * 1024
# Of a stream without an end of its own: so many results are an answer.
ENDLESS_RESULTS = 100
_NOTICES = 100

Told = tuple[float, float | None, str | None]


class Gathering:
    """The events of one call. `most`: how many results are enough; None: as many as there are."""

    def __init__(self, folder: str | None, most: int | None = None) -> None:
        self._folder = folder
        self._most = most
        self._room = KEPT
        self._entries: list[Any] = []
        self._warnings: list[dict[str, Any]] = []
        self._errors: list[dict[str, Any]] = []
        self._count = 0
        self._size = 0
        self._file: IO[bytes] | None = None
        self.enough = False

    def __enter__(self) -> Self:
        descriptor, self._path = tempfile.mkstemp(prefix="result-", suffix=".jsonl", dir=self._folder)
        self._file = os.fdopen(descriptor, "wb")
        self._wanted = False
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if not self._wanted:
            os.unlink(self._path)

    def keep(self, event: Any) -> Told | None:
        """Keep one event of a stream; progress is not kept, and given back to be told: done, total, message."""
        if isinstance(event, Meta):
            if event.unbounded is True and self._most is None:
                self._most = ENDLESS_RESULTS
            return None
        if isinstance(event, Summary | Heartbeat):
            return None
        fields = _plain(event)
        if isinstance(event, Progress):
            return _progress(fields)
        if isinstance(event, Warning):
            self._spool(fields)
            self._warnings += [fields] if len(self._warnings) < _NOTICES else []
        elif isinstance(event, Error):
            self._spool(fields)
            self._errors += [fields] if len(self._errors) < _NOTICES else []
        else:
            self.entry(fields)
        return None

    def entry(self, value: Any) -> None:
        """Keep one result."""
        self._count += 1
        self._room -= self._spool(value)
        if self._room >= 0:
            self._entries.append(value)
        if self._most is not None and self._count >= self._most:
            self.enough = True

    def judged(self, verdict: Verdict, *, ok: bool, endless: bool = False) -> Result:
        """The result of a stream with this verdict; one that would not end may be stopped by its limits."""
        stopped = self.enough or (endless and verdict.code == "DEADLINE_EXCEEDED")
        ok = stopped or ok
        if not ok and not self._errors:
            self._errors.append({"code": verdict.code, "category": "internal", "message": verdict.reason})
        return self.result(_summary(verdict.summary), code="OK" if ok else verdict.code, stopped=stopped)

    def result(self, summary: dict[str, Any], *, code: str = "OK", stopped: bool = False) -> Result:
        cut = len(self._entries) < self._count
        self._wanted = cut
        return Result(
            ok=code == "OK",
            entries=self._entries,
            summary=summary,
            warnings=self._warnings,
            errors=self._errors,
            code=code,
            truncated=cut or stopped,
            spool=self._path if cut else None,
        )

    def _spool(self, value: Any) -> int:
        line = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        self._size += len(line)
        if self._file is not None and self._size <= SPOOL_LIMIT:
            self._file.write(line)
        return len(line)


def _progress(fields: dict[str, Any]) -> Told | None:
    done, total, message = fields.get("done"), fields.get("total"), fields.get("message")
    if not isinstance(done, int | float):
        return None
    return (
        float(done),
        float(total) if isinstance(total, int | float) else None,
        message if isinstance(message, str) else None,
    )


def _summary(event: Any) -> dict[str, Any]:
    """A stream's last word, without its type."""
    return {} if event is None else {name: value for name, value in _plain(event).items() if name != "type"}


def _plain(event: Any) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.json.decode(encode(event)) if isinstance(event, Open) else dict(event)
    return fields
