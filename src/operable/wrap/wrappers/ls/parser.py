"""Entries of one directory, from scandir(2) and lstat(2)."""

from __future__ import annotations

import os

from operable.wrap.fields import as_fail, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# Up to this limit only the smallest names are kept while the directory is read, beyond it all of them.
_FEW = 10_000
# Rows go out in lists of this many (operable.tool.rows): enough to make encoding cheap, too few to be late.
_BATCH = 256


def entries(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    path, everything, brief = inputs["path"], inputs["all"], inputs["names_only"]
    try:
        with os.scandir(path) as found:
            shown = (each for each in found if everything or not each.name.startswith("."))
            rows = []
            for each in shown if inputs["unsorted"] else _sorted(shown, upstream):
                rows.append(described(each, brief=brief))
                if len(rows) == _BATCH:
                    yield rows
                    rows = []
            if rows:
                yield rows
    except OSError as problem:
        raise as_fail(problem, path) from problem


def _sorted(found: Iterator[Any], upstream: Upstream) -> list[Any]:
    """By the bytes of the names: an order that no locale changes, and a cursor can go on in."""
    after = _position(upstream.after)
    behind = found if after is None else (each for each in found if os.fsencode(each.name) > after)
    if upstream.fetch is not None and upstream.fetch <= _FEW:
        from heapq import nsmallest

        return nsmallest(upstream.fetch, behind, key=_key)
    return sorted(behind, key=_key)


def _key(entry: Any) -> bytes:
    return os.fsencode(entry.name)


def _position(after: Any) -> bytes | None:
    if after is None:
        return None
    name, encoded = after
    if encoded is None:
        return str(name).encode("utf-8")
    from binascii import a2b_base64

    return a2b_base64(encoded)
