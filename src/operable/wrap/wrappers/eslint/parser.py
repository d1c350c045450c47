"""What ESLint prints with `--format json`: an array, an object for each file, with its new text if it was fixed."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import Values, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_SEVERITIES = {1: "warning", 2: "error"}
_ANSWERS = (0, 1)
# What ESLint would print of a plan: the new text of each file.
_LARGEST = 64 * 1024 * 1024


def check(upstream: Upstream) -> Iterator[Any]:
    for found in _files(upstream):
        yield from _findings(found) if isinstance(found, dict) else (found,)


def fix(upstream: Upstream) -> Iterator[Any]:
    for found in _files(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        if "output" in found:  # written by now: ESLint reports when it has done everything
            yield {"type": "fixed", **_named("path", found)}
        yield from _findings(found)


def plan_check(upstream: Upstream) -> Iterator[Change]:
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    for path in _there(upstream):
        yield Change("lint", path)


def plan_fix(upstream: Upstream) -> Iterator[Change]:
    words = upstream.words()
    if not upstream.project_code:
        for path in _there(upstream):
            yield Change("fix", path)
        return
    told = upstream.ask(
        ["--fix-dry-run", *(word for word in words if word != "--fix")], fine=_ANSWERS, limit=_LARGEST
    )
    try:
        files = decode(told)
    except ValueError as problem:
        raise Fail("internal", "UPSTREAM_NON_JSON", "eslint printed no JSON", target="eslint") from problem
    for found in files:
        if "output" in found:
            yield Change("fix", _named("path", found)["path"], left=len(found.get("messages") or ()))


def _there(upstream: Upstream) -> list[str]:
    """The paths as they were given. One may be a pattern that ESLint reads, so that it need not be there."""
    return list(upstream.inputs["files"]) or ["."]


def _files(upstream: Upstream) -> Iterator[Any]:
    """The object of each file, as they come."""
    values = Values(RECORD_LIMIT)
    try:
        for chunk in upstream.chunks():
            for raw in values.feed(chunk):
                yield _decoded(upstream, raw)
    except OverflowError:
        raise upstream.too_long(RECORD_LIMIT) from None
    rest, whole = values.eof()
    if not whole:
        upstream.cut_off()
        return
    for raw in rest:
        yield _decoded(upstream, raw)


def _decoded(upstream: Upstream, raw: bytes) -> Any:
    try:
        found = decode(raw)
    except ValueError:
        found = None
    return found if isinstance(found, dict) and "filePath" in found else upstream.foreign_line(raw)


def _findings(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in found.get("messages") or ():
        yield {
            "type": "finding",
            **_named("file", found),
            "line": each.get("line"),
            "column": each.get("column"),
            "end_line": each.get("endLine"),
            "end_column": each.get("endColumn"),
            "severity": _SEVERITIES.get(each.get("severity"), "error"),
            "code": each.get("ruleId"),
            "message": str(each.get("message") or ""),
            "fixable": "fix" in each,
        }


def _named(field: str, found: dict[str, Any]) -> dict[str, Any]:
    """The path as it is written from here; ESLint says where it really is."""
    path = found["filePath"]
    inside = os.path.relpath(path, os.path.realpath(os.getcwd())) if os.path.isabs(path) else path
    return {field: path if inside.startswith("..") else inside}
