"""Keep an invocation in one file, to be looked at, compared, or played back as a fake tool (`playback`).

A cassette is JSONL, written beside its place and moved there when the call has ended (0600, whole or not at all):

    {"type":"cassette","version":1,"argv":[...],"stdin":"sha256:..."}    argv redacted; stdin as a digest
    {"type":"out","at":0.0213,"line":"..."}                              one line of stdout, seconds since the start
    {"type":"out","at":0.0214,"base64":"...","eol":false}                not UTF-8; a last line without LF
    {"type":"err","text":"...","total":120,"omitted":0}                  stderr: bounded, redacted
    {"type":"end","status":0,"elapsed":0.034,"verdict":"OK","redacted_lines":0,"truncated":false}

Lines that contain a secret (by the rules of `kernel.redact`) are kept redacted, and counted in the last line: a replay of
such a cassette differs there, and only there. `redact=False` keeps every byte of stdout; the rest is redacted always.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from typing import Any, Unpack

import msgspec

from operable.kernel.errors import EX_CANTCREAT, Fail
from operable.kernel.redact import Known, Redactor
from operable.proc.child import ChildEnd, Stdin
from operable.run.client import Call
from operable.run.options import CallOptions, options_from
from operable.run.session import CallSession, Stage, known_values
from operable.state.atomic import WholeFile
from operable.wire.lines import LineSplitter

VERSION = 1
# A cassette is kept in a repository or a bug report; beyond this it is a data set. What exceeds it is marked as such.
LIMIT = 256 * 1024 * 1024
_encode_lines = msgspec.json.Encoder().encode_lines


def record(
    argv: Sequence[str],
    path: str | os.PathLike[str],
    *,
    redact: bool = True,
    **options: Unpack[CallOptions],
) -> Call:
    """A call (see `client.call`) that also writes a cassette to `path` when it ends, whatever its verdict."""
    checked = options_from(options)
    recorder = Recorder(path, checked.stdin, redact=redact, known=known_values(checked))
    return Call(CallSession([argv], checked, recorder))


class Recorder:
    """Observes one call. A disk that fills up never disturbs the call: it is reported when the call has ended."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        stdin: Stdin,
        *,
        redact: bool = True,
        known: Known | None = None,
    ) -> None:
        self._path = path
        self._stdin = _stdin_digest(stdin)
        self._redact = redact
        self._redactor = Redactor(known if known is not None else ())
        self._file: WholeFile | None = None
        self._failure: Fail | None = None
        self._splitter = LineSplitter()
        self._size = 0
        self._changed = 0
        self._last_at = 0.0

    def started(self, argv: tuple[str, ...]) -> None:
        self._write({"type": "cassette", "version": VERSION, "argv": argv, "stdin": self._stdin})

    def took(self, at: float, chunk: bytes) -> None:
        self._last_at = at
        self._size += len(chunk)
        if self._truncated:
            return
        lines = list(self._splitter.feed(chunk))
        harmless = not self._redact or self._redactor.leaves(lines)
        if not harmless or not self._keep_all(at, lines):
            for line in lines:
                self._keep(at, line, harmless=harmless)

    def ended(self, end: ChildEnd, stage: Stage) -> None:
        if not self._truncated and (rest := self._splitter.eof()) is not None:
            self._keep(self._last_at, rest, harmless=not self._redact, eol=False)
        self._write(
            {"type": "err", "text": stage.stderr, "total": end.stderr.total, "omitted": end.stderr.omitted}
        )
        self._write(
            {
                "type": "end",
                "status": end.status,
                "elapsed": round(end.elapsed, 4),
                "verdict": stage.verdict.code,
                "redacted_lines": self._changed,
                "truncated": self._truncated,
            }
        )
        if self._failure is not None:
            raise self._failure
        if self._file is not None:
            try:
                self._file.commit()
            except OSError as error:
                raise _cannot_write(self._path, error) from error

    @property
    def _truncated(self) -> bool:
        return self._size > LIMIT or self._splitter.error is not None

    def _keep_all(self, at: float, lines: list[bytes]) -> bool:
        """Keep the lines of a chunk as they are, in one write; whether all of them are text."""
        moment = round(at, 4)
        try:
            entries = [{"type": "out", "at": moment, "line": line.decode()} for line in lines]
        except UnicodeDecodeError:
            return False
        self._write_data(_encode_lines(entries))
        return True

    def _keep(self, at: float, line: bytes, *, harmless: bool = False, eol: bool = True) -> None:
        shown = line if harmless or self._redactor.leaves([line]) else self._without_secrets(line)
        self._changed += shown != line
        entry: dict[str, Any] = {"type": "out", "at": round(at, 4)}
        try:
            entry["line"] = shown.decode()
        except UnicodeDecodeError:
            entry["base64"] = base64.b64encode(shown).decode()
        if not eol:
            entry["eol"] = False
        self._write(entry)

    def _without_secrets(self, line: bytes) -> bytes:
        try:
            value = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            return self._redactor.line(line)
        masked = self._redactor.value(value)
        return line if masked == value else msgspec.json.encode(masked)

    def _write(self, entry: dict[str, Any]) -> None:
        self._write_data(msgspec.json.encode(entry) + b"\n")

    def _write_data(self, data: bytes) -> None:
        if self._failure is not None:
            return
        try:
            if self._file is None:
                self._file = WholeFile(os.path.abspath(self._path))
            self._file.write(data)
        except OSError as error:
            self._failure = _cannot_write(self._path, error)


def _cannot_write(path: str | os.PathLike[str], error: OSError) -> Fail:
    place = os.path.abspath(path)
    return Fail(
        "io",
        "CANNOT_WRITE",
        f"cannot write {place}: {error.strerror}",
        target=place,
        hint="free space, or name a file in a folder where you may write",
        exit_code=EX_CANTCREAT,
    )


def _stdin_digest(stdin: Stdin) -> str | None:
    """What was put in, recognisable but not readable; "inherited" when it did not pass through here."""
    if stdin is None:
        return None
    if isinstance(stdin, bytes):
        return f"sha256:{hashlib.sha256(stdin).hexdigest()}"
    return "inherited"
