"""Structured input: JSON, JSONL, or the stream of another AOI tool, item by item and bounded (AOI sections 12 and 13).

Theory of operation: every line is judged by its `type`. `aoi:` lines are control: they show whether the input
from upstream can be trusted, and are never items. Lines of the accepted types (or without a type) are items and must match
the input class exactly. Other types are skipped and counted. Once a stream has shown its meta event it is an AOI
stream, and then its end without a good summary is our failure too.

A mutation reads everything before it plans anything (`read_all`); a transform takes items as they come.
"""

from __future__ import annotations

import hashlib
import os

from operable.kernel.errors import Fail
from operable.kernel.json import parse
from operable.tool.framework import Warn
from operable.tool.process import STDIN_NAMES, input_descriptor
from operable.tool.values.builder import build
from operable.wire.lines import LineSplitter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.tool.outflow import RunState
    from operable.tool.records import Record

# What a mutation may read before it acts, and a JSON document may contain; beyond it, use JSONL in parts.
MAX_INPUT = 256 * 1024 * 1024
_CHUNK = 262_144
_BOM = b"\xef\xbb\xbf"  # some programs begin a file with it; anywhere else it is an error


class Intake:
    """The input of one run, as the author's function sees it: an iterable of items."""

    def __init__(self, run: RunState, model: type[Record]) -> None:
        self._run = run
        self._model = model
        options = run.call.options
        self._tolerant = "continue-on-error" in options
        if self._tolerant and "fail-fast" in options:
            raise Fail(
                "usage", "CONFLICTING_OPTIONS", "--fail-fast and --continue-on-error exclude each other"
            )
        given = [name for name in ("input-jsonl", "input-json") if name in options]
        if len(given) != 1:
            raise Fail(
                "usage",
                "MISSING_INPUT" if not given else "CONFLICTING_OPTIONS",
                f"{run.command.name} needs one input",
                hint="--input-jsonl - reads one JSON object per line from stdin; a path reads a file",
            )
        self._lines_mode = given[0] == "input-jsonl"
        self._unit = "line" if self._lines_mode else "item"
        self._source: str = options[given[0]]
        self._stdin = self._source in STDIN_NAMES
        self._sha = hashlib.sha256()
        self._items: list[Any] | None = None
        self._size = 0
        self._upstream = _Upstream()
        self._reading = self._read()
        self._ended = False

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def read_all(self) -> None:
        """Read and check the whole input now, and judge what came upstream, before anything is done with it."""
        self._items = []
        for item in self._reading:
            self._items.append(item)
            if len(self._items) > self._run.command.max_plan:
                raise _too_large(f"more than {self._run.command.max_plan} items")
        self.finish()

    def __iter__(self) -> Iterator[Any]:
        # Always the same iterator: a caller that stops and begins again goes on, and `finish` reads what is left.
        return self._reading if self._items is None else iter(self._items)

    def finish(self) -> None:
        """Judge the upstream once; items that were never asked for are read first, or their trouble would go unseen.

        Not when a bound of ours has ended the run: then no caller wants them, and the upstream may go on forever.
        """
        if self._ended or self._run.truncated:
            return
        for _ in self._reading:
            pass
        self._ended = True
        if self._upstream.skipped:
            self._run.remarks["ignored_count"] = self._upstream.skipped
        if self._upstream.warnings:
            self._run.remarks["upstream_warning_count"] = self._upstream.warnings
        fail = self._upstream.verdict()
        if fail is None:
            return
        if not self._tolerant:
            raise fail
        if fail.code == "UPSTREAM_INCOMPLETE":
            self._run.item_error(fail)
        else:
            self._run.notice(Warn(fail.code, fail.message).fields)

    def _read(self) -> Iterator[Any]:
        descriptor = self._open()
        try:
            yield from self._jsonl(descriptor) if self._lines_mode else self._json(descriptor)
        finally:
            if not self._stdin:
                os.close(descriptor)

    def _open(self) -> int:
        if self._stdin:
            return input_descriptor()
        try:
            return os.open(self._source, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise Fail(
                "not_found", "INPUT_NOT_FOUND", "The input file does not exist", target=self._source
            ) from None

    def _chunks(self, descriptor: int) -> Iterator[bytes]:
        while chunk := os.read(descriptor, _CHUNK):
            self._sha.update(chunk)
            self._size += len(chunk)
            if self._size > MAX_INPUT and (self._items is not None or not self._lines_mode):
                raise _too_large(f"more than {MAX_INPUT} bytes")
            yield chunk

    def _jsonl(self, descriptor: int) -> Iterator[Any]:
        splitter = LineSplitter()
        number = 0
        for chunk in self._chunks(descriptor):
            for line in splitter.feed(chunk):
                number += 1
                yield from self._line(line, number)
            if splitter.error is not None:
                number = splitter.error.line
                raise Fail(
                    "validation",
                    "INPUT_LINE_TOO_LONG",
                    f"Input line {number} is too long",
                    line_number=number,
                )
        rest = splitter.eof()
        if rest:
            yield from self._line(rest, number + 1)

    def _line(self, line: bytes, number: int) -> Iterator[Any]:
        if not line.strip():
            return
        try:
            event = parse(line.removeprefix(_BOM) if number == 1 else line, surrogates="refuse", levels=None)
        except UnicodeDecodeError:
            self._reject("INPUT_NOT_UTF8", f"Input line {number} is not UTF-8", number)
        except (ValueError, RecursionError):
            self._reject("INPUT_JSONL_PARSE_ERROR", f"Invalid JSON on input line {number}", number)
        else:
            yield from self._item(event, number)

    def _json(self, descriptor: int) -> Iterator[Any]:
        data = b"".join(self._chunks(descriptor))
        try:
            value = parse(data.removeprefix(_BOM), surrogates="refuse", levels=None)
        except (ValueError, RecursionError):
            raise Fail("validation", "INPUT_JSON_PARSE_ERROR", "The input is not valid JSON") from None
        for number, item in enumerate(value if isinstance(value, list) else [value], start=1):
            yield from self._item(item, number)

    def _item(self, value: Any, number: int) -> Iterator[Any]:
        if not isinstance(value, dict):
            self._reject("INPUT_NOT_OBJECT", f"Input {self._unit} {number} is not a JSON object", number)
            return
        kind = value.get("type")
        if isinstance(kind, str) and kind.startswith("aoi:"):
            self._upstream.control(kind, value)
            return
        if self._upstream.closed:
            self._reject(
                "INPUT_AFTER_SUMMARY", f"Input {self._unit} {number} follows the end of its stream", number
            )
            return
        accepted = self._model.accepted_types
        if isinstance(kind, str) and accepted and kind not in accepted:
            self._upstream.skipped += 1
            return
        if "type" not in self._model.__wire_names__.values():
            value = {name: inner for name, inner in value.items() if name != "type"}
        problems: list[str] = []
        item = build(self._model, value, problems)
        if item is None:
            self._reject("INPUT_INVALID", f"Input {self._unit} {number}: {'; '.join(problems[:5])}", number)
            return
        item.line_number = number  # the class is an Input
        yield item

    def _reject(self, code: str, message: str, number: int) -> None:
        fail = Fail("validation", code, message)
        fail.details[f"{self._unit}_number"] = number
        if not self._tolerant:
            raise fail
        self._run.item_error(fail)


class _Upstream:
    """What the control events of the producing tools said; several streams may follow one another (`cat a b`)."""

    def __init__(self) -> None:
        self.warnings = 0
        self.skipped = 0
        self.closed = False  # a summary was the last word of an AOI stream
        self._open = False  # a meta event was not followed by its summary yet
        self._incomplete = False
        self._failed = False

    def control(self, kind: str, event: dict[str, Any]) -> None:
        if kind == "aoi:meta":
            self._incomplete = self._incomplete or self._open
            self._open, self.closed = True, False
        elif kind == "aoi:warning":
            self.warnings += 1
        elif kind == "aoi:error":
            self._failed = True
        elif kind == "aoi:summary":
            self._failed = self._failed or event.get("ok") is not True
            self.closed, self._open = True, False

    def verdict(self) -> Fail | None:
        if self._incomplete or self._open:
            return Fail(
                "io",
                "UPSTREAM_INCOMPLETE",
                "The upstream tool ended without a summary: its output is incomplete",
            )
        if self._failed:
            return Fail(
                "partial",
                "UPSTREAM_FAILED",
                "The upstream tool reported a failure",
                hint="--continue-on-error",
            )
        return None


def _too_large(what: str) -> Fail:
    return Fail("validation", "INPUT_TOO_LARGE", f"The input has {what}", hint="split it")
