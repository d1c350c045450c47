"""The room of each entry of a folder, from scandir(2) and lstat(2)."""

from __future__ import annotations

import os
import stat

from operable.tool.framework import Warn
from operable.wrap.fields import as_fail, put_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# A unit of st_blocks.
_BLOCK = 512
# Files with more than one name that are remembered, so that each is counted once.
_LINKS = 1_000_000
# So many folders that cannot be read are named one by one.
_WARNED = 20


class _Count:
    """Room, length and number of what is below one entry."""

    def __init__(self, path: str, status: os.stat_result) -> None:
        self.path, self.mode = path, status.st_mode
        self.room = self.size = self.files = 0

    def add(self, status: os.stat_result) -> None:
        self.room += status.st_blocks * _BLOCK
        if not stat.S_ISDIR(status.st_mode):
            self.size += status.st_size
            self.files += 1

    def event(self) -> dict[str, Any]:
        kind = "directory" if stat.S_ISDIR(self.mode) else "file" if stat.S_ISREG(self.mode) else "other"
        event: dict[str, Any] = {"type": "usage"}
        put_path(event, "path", self.path)
        return event | {"kind": kind, "bytes": self.room, "size": self.size, "files": self.files}


def usage(upstream: Upstream) -> Iterator[Any]:
    top = upstream.inputs["path"]
    try:
        status = os.lstat(top)
        names = sorted(os.listdir(top), key=os.fsencode) if stat.S_ISDIR(status.st_mode) else []
    except OSError as problem:
        raise as_fail(problem, top) from problem
    whole, counts = _Count(top, status), []
    whole.add(status)
    seen: set[tuple[int, int]] = set()
    unread: list[str] = []
    for name in names:
        path = os.path.join(top, name)
        try:
            own = os.lstat(path)
        except OSError:
            continue  # gone meanwhile
        count = _Count(path, own)
        for each in _below(path, own, status.st_dev, seen, unread):
            count.add(each)
            whole.add(each)
        counts.append(count.event())
    for path in unread[:_WARNED]:
        warning: dict[str, Any] = {}
        put_path(warning, "path", path)
        yield Warn(
            "PATH_NOT_READABLE",
            f"{warning['path']} cannot be read: its room is not counted",
            target=warning["path"],
        )
    if len(unread) > _WARNED:
        yield Warn("PATHS_NOT_READABLE", f"{len(unread) - _WARNED} further folders cannot be read")
    yield [whole.event(), *counts]


def _below(
    path: str, status: os.stat_result, device: int, seen: set[tuple[int, int]], unread: list[str]
) -> Iterator[os.stat_result]:
    """An entry and all below it, on the same file system; without recursion, because a tree may be deep."""
    waiting = [(path, status)]
    while waiting:
        place, found = waiting.pop()
        if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
            key = (found.st_dev, found.st_ino)
            if key in seen:
                continue
            if len(seen) < _LINKS:
                seen.add(key)
        if found.st_dev != device:
            continue
        yield found
        if not stat.S_ISDIR(found.st_mode):
            continue
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    try:
                        waiting.append((entry.path, entry.stat(follow_symlinks=False)))
                    except OSError:
                        continue  # gone meanwhile
        except OSError:
            unread.append(place)
