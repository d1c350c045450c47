"""What one call gave, on its way into a bounded result: a part that a model can read, and all of it in a file.

Results are kept up to a size; where there are more, every one goes to a file (`Spool`) for a client that wants the rest.
What was kept in memory until then goes first, so the file has every event in its order. A disk that is full, a folder
that cannot be written, or a result beyond the limit is not a failure of the call, which has been made: the part that was
kept stays true, and `problem` says what is not there. The file is gone with the block unless the result names it; the
files of a process are in one private folder, which the keeper removes however the process ends.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from operable.kernel.json import DEEPEST, too_deep
from operable.offer.action import Result
from operable.proc.tree.keeper import KEEPER
from operable.wire.framework import Error, Heartbeat, Meta, Open, Progress, Summary, Warning, encode  # noqa: A004

if TYPE_CHECKING:
    from operable.wire.verdict import Verdict


LIMIT = 64 * 1024 * 1024

_folders: dict[int, str] = {}  # of this process; a fork makes its own


class Spool:
    """Lines of one result; in memory up to `room` bytes, then in a file up to `LIMIT`."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._lines: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self._path: str | None = None
        self.problem: str | None = None  # why not all of it is there

    def add(self, line: bytes) -> None:
        self._size += len(line)
        if self.problem is not None:
            return
        if self._size > LIMIT:
            self.problem = f"the result is longer than {LIMIT} bytes; what is beyond that was not kept"
            return
        self._lines.append(line)
        if self._size > self._room:
            self._spill()

    def finish(self) -> str | None:
        """The path of the whole result, whose owner is the caller from now on; None when it could not be kept."""
        if self._lines:
            self._spill()
        self._close()
        path, self._path = self._path, None
        return path

    def discard(self) -> None:
        """Remove what no client asked for."""
        self._close()
        if self._path is not None:
            remove(self._path)
            self._path = None

    def _spill(self) -> None:
        lines, self._lines = self._lines, []
        try:
            if self._file is None:
                descriptor, self._path = tempfile.mkstemp(prefix="result-", suffix=".jsonl", dir=_folder())
                self._file = os.fdopen(descriptor, "wb", buffering=0)
            _write_all(self._file, b"".join(lines))
        except OSError as error:
            self.problem = f"the whole result could not be kept: {error.strerror}"
            self.discard()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def remove(path: str) -> None:
    """Remove a file; a file that another process has removed is gone as well."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _folder() -> str:
    """The private folder of this process, made when it is first needed."""
    pid = os.getpid()
    if pid not in _folders or not os.path.isdir(_folders[pid]):
        folder = tempfile.mkdtemp(prefix="operable-results-")
        _folders[pid] = folder
        KEEPER.leave(folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # where there is no keeper
    return _folders[pid]


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
