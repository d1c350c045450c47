"""Reads a file line by line. Only a regular file is read: anything else might have no end."""

from __future__ import annotations

import os
import stat

from operable.kernel.errors import Fail
from operable.wrap.fields import as_fail, put
from operable.wrap.upstream import RECORD_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

    from operable.wrap.upstream import Upstream

_BATCH = 256


def lines(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    path, first, last, tail = inputs["file"], inputs["first"], inputs.get("last"), inputs.get("tail")
    if tail is not None and (last is not None or first != 1):
        raise Fail(
            "usage",
            "CONFLICTING_OPTIONS",
            "--tail is for itself, without --first and --last",
            target="--tail",
        )
    if last is not None and last < first:
        raise Fail("usage", "CONFLICTING_OPTIONS", "--last is before --first", target="--last")
    try:
        with _opened(path) as file:
            if tail is not None:
                first = max(1, sum(1 for _ in _numbered(file, path)) - tail + 1)
                file.seek(0)
            if upstream.after is not None:
                (after,) = upstream.after if isinstance(upstream.after, list | tuple) else (upstream.after,)
                first = max(first, int(after) + 1)
            yield from _rows(file, path, first, last)
    except OSError as problem:
        raise as_fail(problem, path) from problem


def _opened(path: str) -> IO[bytes]:
    # A pipe would be waited for until it has a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        hint = "for a folder: operable wrap ls list ."
        raise Fail("validation", "NOT_A_FILE", "only a file has lines", hint=hint, target=path[:200])
    return os.fdopen(descriptor, "rb")


def _rows(file: IO[bytes], path: str, first: int, last: int | None) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for number, line in _numbered(file, path):
        if last is not None and number > last:
            break
        if number >= first:
            row: dict[str, Any] = {"type": "line", "line_number": number}
            put(row, "text", line.removesuffix(b"\n"))
            rows.append(row)
        if len(rows) == _BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def _numbered(file: IO[bytes], path: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(RECORD_LIMIT + 1):
        number += 1
        if len(line) > RECORD_LIMIT:
            message = f"line {number} has more than {RECORD_LIMIT} bytes"
            raise Fail("validation", "LINE_TOO_LONG", message, target=path[:200])
        yield number, line
