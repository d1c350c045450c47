"""The input side: what an item may be, and JSONL that may be the stream of another AOI tool (sections 12 and 13).

Lines with an `aoi:` type are control: they say whether what came upstream is complete and good. `entry` lines and lines
without a type are items. Other types are counted and left out. A bad line ends the run before anything is done, or, with
`--continue-on-error`, is reported and left out.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from stream import Fail, Stream, interruptible

# An import is read whole before anything is done; beyond this, import in parts.
MAX_INPUT = 16 * 1024 * 1024
# Control characters act on terminals; U+FFFD and halves of surrogate pairs are what broken text turns into.
_BROKEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffd\ud800-\udfff"
_TITLE = re.compile(f"[^\\t\\n{_BROKEN}]{{1,200}}")
_BODY = re.compile(f"[^{_BROKEN}]{{0,10000}}")
_ID = re.compile("i_[0-9a-f]{12}")


class Line(NamedTuple):
    number: int
    item: dict[str, str]


def problem(value: dict[str, Any]) -> str | None:
    """Why this cannot be an item; None if it can."""
    if set(value) - {"type", "id", "title", "body"}:
        return "there is an unknown field"
    if value.get("type", "entry") != "entry":
        return "type must be entry"
    if not _fits(_TITLE, value.get("title")):
        return "title must be 1 to 200 characters, none of them a control character"
    if not _fits(_BODY, value.get("body", "")):
        return "body must be at most 10000 characters, none of them a control character but tab and newline"
    if not _fits(_ID, value.get("id", "i_000000000000")):
        return "id must be i_ and 12 hexadecimal digits"
    return None


class Intake:
    """Reads one input. Afterwards `digest` identifies it and `remarks` are for the summary."""

    def __init__(self, stream: Stream, source: str, *, tolerant: bool) -> None:
        self._stream = stream
        self._source = source
        self._tolerant = tolerant
        self._sha = hashlib.sha256()
        self._ignored = self._warnings = 0
        self._open = self._closed = self._incomplete = self._failed = False

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    @property
    def remarks(self) -> dict[str, int]:
        counts = {"ignored_count": self._ignored, "upstream_warning_count": self._warnings}
        return {name: count for name, count in counts.items() if count}

    def read(self) -> list[Line]:
        items = []
        for number, line in enumerate(self._lines(), start=1):
            try:
                if line.strip() and (item := self._item(line, number)) is not None:
                    items.append(Line(number, item))
            except Fail as fail:
                if not self._tolerant:
                    raise
                self._stream.send(fail.event)
        self._judge_upstream()
        return items

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        if rest:
            yield rest

    def _chunks(self) -> Iterator[bytes]:
        size = 0
        try:
            descriptor = 0 if self._source == "-" else os.open(self._source, os.O_RDONLY)
            while chunk := self._chunk(descriptor):
                self._sha.update(chunk)
                size += len(chunk)
                if size > MAX_INPUT:
                    raise Fail("validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB")
                yield chunk
        except FileNotFoundError:
            raise Fail("not_found", "INPUT_NOT_FOUND", "The input file does not exist") from None
        except OSError:
            raise Fail("io", "INPUT_UNREADABLE", "The input cannot be read") from None

    def _chunk(self, descriptor: int) -> bytes:
        with interruptible():
            return os.read(descriptor, 65536)

    def _item(self, line: bytes, number: int) -> dict[str, str] | None:
        try:
            value = json.loads(line.decode(), parse_constant=_no_constant)
            json.dumps(value, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
        except (ValueError, RecursionError):
            raise _rejected(
                "INPUT_JSONL_PARSE_ERROR", f"Invalid JSON on input line {number}", number
            ) from None
        if not isinstance(value, dict):
            raise _rejected("INPUT_NOT_OBJECT", f"Input line {number} is not a JSON object", number)
        kind = value.get("type")
        if isinstance(kind, str) and kind.startswith("aoi:"):
            self._control(kind, value)
            return None
        if self._closed:
            raise _rejected(
                "INPUT_AFTER_SUMMARY", f"Input line {number} follows the end of its stream", number
            )
        if isinstance(kind, str) and kind != "entry":
            self._ignored += 1
            return None
        if (reason := problem(value)) is not None:
            raise _rejected("INPUT_INVALID", f"Input line {number}: {reason}", number)
        return {name: value[name] for name in ("id", "title", "body") if name in value}

    def _control(self, kind: str, event: dict[str, Any]) -> None:
        match kind:
            case "aoi:meta":  # several streams may follow one another, as after `cat a b`
                self._incomplete = self._incomplete or self._open
                self._open, self._closed = True, False
            case "aoi:warning":
                self._warnings += 1
            case "aoi:error":
                self._failed = True
            case "aoi:summary":
                self._failed = self._failed or event.get("ok") is not True
                self._open, self._closed = False, True

    def _judge_upstream(self) -> None:
        if self._incomplete or self._open:
            fail = Fail("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary")
            if not self._tolerant:
                raise fail
            self._stream.send(fail.event)
        elif self._failed:
            code, message = "UPSTREAM_FAILED", "The upstream tool reported a failure"
            if not self._tolerant:
                raise Fail("partial", code, message)
            self._stream.send({"type": "aoi:warning", "code": code, "message": message})


def _fits(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _rejected(code: str, message: str, number: int) -> Fail:
    return Fail("validation", code, message, line_number=number)


def _no_constant(name: str) -> None:
    msg = f"{name} is not JSON"
    raise ValueError(msg)
