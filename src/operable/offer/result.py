"""What one call gave, on its way into a bounded result: a part that a model can read, and all of it in a file.

Results are kept up to a size; where there are more, every one goes to a file (`spool`) for a client that wants the rest.
The file is gone with the block unless the result names it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import msgspec

from operable.kernel.json import DEEPEST, too_deep
from operable.offer.action import Result
from operable.offer.spool import Spool
from operable.wire.framework import Error, Heartbeat, Meta, Open, Progress, Summary, Warning, encode  # noqa: A004

if TYPE_CHECKING:
    from operable.wire.verdict import Verdict

# About 12 000 tokens: what a model can be given at once. The rest is one read away.
KEPT = 50_000
# Of a stream without an end of its own: so many results are an answer.
ENDLESS_RESULTS = 100
# Of warnings, and of errors: a longer one does not help a reader, and a program may put anything into one.
_NOTICES = 100
_NOTICES_ROOM = 20_000
# Of one field of a summary; an application may answer with more than its results.
_FIELD = 4000
_STDERR = 2000  # characters
# Of nesting: the protocol puts a result into some objects of its own.
_LEVELS = DEEPEST - 10

Told = tuple[float, float | None, str | None]


class ResultCollector:
    """The events of one call. `most`: how many results are enough; None: as many as there are."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._room = KEPT
        self._entries: list[Any] = []
        self._warnings: list[dict[str, Any]] = []
        self._errors: list[dict[str, Any]] = []
        self._notices_room = _NOTICES_ROOM
        self._count = 0
        self._cut = False
        self._whole = Spool(KEPT)
        self.enough = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._whole.discard()

    def keep(self, event: Any) -> Told | None:
        """Keep one event of a stream; progress is not kept, and returned, for the caller to report: done, total, message."""
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
            self._notice(self._warnings, fields)
        elif isinstance(event, Error):
            self._notice(self._errors, fields)
        else:
            self.entry(fields)
        return None

    def entry(self, value: Any) -> None:
        """Keep one result."""
        self._count += 1
        self._room -= self._spool(value)
        if self._room >= 0 and not too_deep(value, _LEVELS):
            self._entries.append(value)
        if self._most is not None and self._count >= self._most:
            self.enough = True

    def _notice(self, kept: list[dict[str, Any]], fields: dict[str, Any]) -> None:
        size = self._spool(fields)
        if len(kept) >= _NOTICES or size > self._notices_room or too_deep(fields, _LEVELS):
            self._cut = True
            # What a failure is, is said whatever it says beside that.
            if kept or kept is not self._errors:
                return
            fields = {name: str(fields.get(name, ""))[:1000] for name in ("code", "category", "message")}
        self._notices_room -= size
        kept.append(fields)

    def judged(self, verdict: Verdict, *, ok: bool, endless: bool = False, stderr: str = "") -> Result:
        """The result of a stream with this verdict; one that would not end may be stopped by its limits.

        `stderr` is shown for a tool that failed without a word in its stream.
        """
        stopped = self.enough or (endless and verdict.code == "DEADLINE_EXCEEDED")
        ok = stopped or ok
        if not ok and not self._errors:
            error = {"code": verdict.code, "category": "internal", "message": verdict.reason}
            self._errors.append(error | ({"stderr": stderr[-_STDERR:]} if stderr else {}))
        code = "OK" if ok else verdict.code
        said = str(self._errors[-1].get("code") or "") if code == "SUMMARY_NOT_OK" else ""
        if said and said != "OK":  # the tool says itself what it is; nothing that it says makes it a success
            code = said
        return self.result(_summary(verdict.summary), code=code, stopped=stopped)

    def result(self, summary: dict[str, Any], *, code: str = "OK", stopped: bool = False) -> Result:
        summary = self._bounded(summary)
        cut = self._cut or len(self._entries) < self._count
        spool = self._whole.finish() if cut else None
        if cut and self._whole.problem is not None:
            self._warnings.append({"code": "RESULT_NOT_KEPT", "message": self._whole.problem})
        return Result(
            ok=code == "OK",
            entries=self._entries,
            summary=summary,
            warnings=self._warnings,
            errors=self._errors,
            code=code,
            truncated=cut or stopped,
            spool=spool,
        )

    def _bounded(self, summary: dict[str, Any]) -> dict[str, Any]:
        """The summary without what is too long in it; the whole of it then is at the end of the file."""
        short = {
            name: value
            for name, value in summary.items()
            if len(_line(value)) <= _FIELD and not too_deep(value, _LEVELS)
        }
        if len(short) < len(summary) or len(_line(short)) > _NOTICES_ROOM:
            self._cut = True
            self._spool({"summary": summary})
        return short if len(_line(short)) <= _NOTICES_ROOM else {}

    def _spool(self, value: Any) -> int:
        line = _line(value)
        self._whole.add(line)
        return len(line)


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


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
