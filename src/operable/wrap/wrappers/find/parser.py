"""Files below a directory, from scandir(2) and lstat(2), folder by folder in the order of their names."""

from __future__ import annotations

import os

from operable.tool.framework import Warn
from operable.wrap.entries import as_fail, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_BATCH = 256


def files(upstream: Upstream) -> Iterator[Any]:
    top = upstream.inputs["path"]
    wanted = _filter(upstream.inputs)
    rows: list[Any] = []
    for found in _walk(top, _position(upstream.after, top), upstream.inputs.get("max_depth")):
        if isinstance(found, OSError):
            if rows:
                yield rows
                rows = []
            fail = as_fail(found, found.filename or top)
            if (found.filename or top) == top:
                raise fail
            yield Warn(fail.code, fail.message, target=fail.target)
            continue
        entry, depth = found
        event = described(entry, brief=False)
        event["depth"] = depth
        if wanted(entry, event):
            rows.append(event)
            if len(rows) == _BATCH:
                yield rows
                rows = []
    if rows:
        yield rows


def _walk(top: str, after: list[bytes], max_depth: int | None) -> Iterator[Any]:
    """Every entry with its depth, parents first; what lies before the position is not even opened."""
    pending: list[tuple[Iterator[Any], int, list[bytes]]] = [(_listed(top, after), 1, after)]
    while pending:
        entries, depth, rest = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
            continue
        if isinstance(entry, OSError):
            yield entry
            continue
        on_the_way = bool(rest) and os.fsencode(entry.name) == rest[0]
        if not on_the_way:
            yield entry, depth
        if entry.is_dir(follow_symlinks=False) and (max_depth is None or depth < max_depth):
            below = rest[1:] if on_the_way else []
            pending.append((_listed(entry.path, below), depth + 1, below))


def _listed(path: str, after: list[bytes]) -> Iterator[Any]:
    """The entries of one folder from the position on, sorted; or why it cannot be read."""
    try:
        with os.scandir(path) as found:
            behind = (each for each in found if not after or os.fsencode(each.name) >= after[0])
            return iter(sorted(behind, key=lambda each: os.fsencode(each.name)))
    except OSError as problem:
        problem.filename = path
        return iter([problem])


def _position(after: Any, top: str) -> list[bytes]:
    """The names on the way to the last entry of the page before."""
    if after is None:
        return []
    path, encoded = after
    if encoded is None:
        raw = str(path).encode("utf-8")
    else:
        from binascii import a2b_base64

        raw = a2b_base64(encoded)
    relative = raw[len(os.fsencode(os.path.join(top, ""))) :]
    return relative.split(b"/")


def _filter(inputs: dict[str, Any]) -> Callable[[Any, dict[str, Any]], bool]:
    matches: Any = None
    if inputs.get("name") is not None:
        import re
        from fnmatch import translate

        matches = re.compile(translate(inputs["name"])).match
    kind, least, newer = inputs.get("kind"), inputs.get("min_size"), inputs.get("newer_than")

    def wanted(entry: Any, event: dict[str, Any]) -> bool:
        return (
            (matches is None or matches(entry.name) is not None)
            and (kind is None or event["kind"] == kind)
            and (least is None or (event["size"] or 0) >= least)
            and (newer is None or (event["modified_ns"] or 0) > newer * 1_000_000_000)
        )

    return wanted
