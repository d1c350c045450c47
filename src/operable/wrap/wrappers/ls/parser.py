"""Entries of one directory, from scandir(2) and lstat(2)."""

from __future__ import annotations

import os
from itertools import islice
from operator import attrgetter

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
    path, brief = inputs["path"], inputs["names_only"]
    prefix = os.path.join(path, "")
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise as_fail(problem, path) from problem
    try:
        # By its descriptor: the kernel does not look up the path again for every entry.
        with os.scandir(folder) as found:
            shown: Iterator[Any] = found if inputs["all"] else (each for each in found if each.name[0] != ".")
            flow: Iterator[Any] = shown if inputs["unsorted"] else _sorted(shown, upstream)
            while rows := [
                described(each, prefix + each.name, brief=brief, folder=folder)
                for each in islice(flow, _BATCH)
            ]:
                yield rows
    except OSError as problem:
        raise as_fail(problem, path) from problem
    finally:
        os.close(folder)


def _sorted(found: Iterator[Any], upstream: Upstream) -> Iterator[Any]:
    """By the bytes of the names: an order that no locale changes, and a cursor can go on in."""
    after = _position(upstream.after)
    behind = found if after is None else (each for each in found if os.fsencode(each.name) > after)
    if upstream.fetch is not None and upstream.fetch <= _FEW:
        from heapq import nsmallest

        yield from nsmallest(upstream.fetch, behind, key=_key)
        return
    entries = list(behind)
    try:
        "".join([each.name for each in entries]).encode()
        entries.sort(key=attrgetter("name"), reverse=True)  # UTF-8 has the order of the characters
    except UnicodeEncodeError:
        entries.sort(key=_key, reverse=True)
    while entries:  # an entry, and what it keeps of stat, is freed with its row
        yield entries.pop()


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
