"""Files below a directory, from scandir(2) and lstat(2), folder by folder in the order of their names."""

from __future__ import annotations

import os

from operable.tool.framework import Warn
from operable.wrap.fields import as_fail, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_BATCH = 256
# Entries of one folder that are kept at first, and so many that all of them are.
_FEW, _LARGE = 100, 50_000


def files(upstream: Upstream) -> Iterator[Any]:
    top = upstream.inputs["path"]
    wanted = _filter(upstream.inputs)
    rows: list[Any] = []
    batch = _BATCH if upstream.fetch is None else min(_BATCH, upstream.fetch)
    for found in _walk(top, _position(upstream.after, top), upstream.inputs.get("max_depth"), upstream.fetch):
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
        event = described(entry, entry.path, brief=False)
        event["depth"] = depth
        if wanted(entry, event):
            rows.append(event)
            if len(rows) >= batch:
                yield rows
                rows = []
    if rows:
        yield rows


def _walk(top: str, after: list[bytes], max_depth: int | None, fetch: int | None) -> Iterator[Any]:
    """Every entry with its depth, parents first; what is before the position is not even opened."""
    pending: list[tuple[Iterator[Any], int, list[bytes]]] = [(_listed(top, after, fetch), 1, after)]
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
            pending.append((_listed(entry.path, below, fetch), depth + 1, below))


def _listed(path: str, after: list[bytes], fetch: int | None) -> Iterator[Any]:
    """The entries of one folder from the position on, sorted; or why it cannot be read.

    Of a large folder only the first are kept, as many as are wanted; where more turn out to be needed, it is read again.
    """
    from heapq import nsmallest

    start, is_behind = after[0] if after else b"", bytes.__ge__
    count = _LARGE if fetch is None else max(fetch, _FEW)
    while True:
        try:
            with os.scandir(path) as found:
                behind = (each for each in found if is_behind(_key(each), start))
                entries = nsmallest(count, behind, key=_key) if count < _LARGE else sorted(behind, key=_key)
        except OSError as problem:
            problem.filename = path
            yield problem
            return
        yield from entries
        if count >= _LARGE or len(entries) < count:
            return
        start, is_behind, count = _key(entries[-1]), bytes.__gt__, count * 8


def _key(entry: Any) -> bytes:
    return os.fsencode(entry.name)


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
