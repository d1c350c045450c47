"""Mounted file systems, from /proc/self/mountinfo (blanks and line ends in it are octal escapes) and statvfs(3).

A file system may be mounted at several places (bind mounts, a root over an older one): it is shown once, at the place
nearest to the root, as `df` does, so that nothing is added up twice. `all` shows every place.
"""

from __future__ import annotations

import os
import re

from operable.wrap.fields import as_fail, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def filesystems(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    wanted, everything = inputs["fs_type"], inputs["all"]
    mounts = _mounts()
    if inputs["paths"]:
        mounts = list(dict.fromkeys(_mount_of(path, mounts) for path in inputs["paths"]))
    elif not everything:
        mounts = _once(mounts)
    for place, _, _, source, kind in mounts:
        if wanted and kind not in wanted:
            continue
        try:
            room = os.statvfs(place)
        except OSError:
            continue  # not to be seen from here
        if room.f_blocks == 0 and not everything and not inputs["paths"]:
            continue
        event: dict[str, Any] = {"type": "filesystem"}
        put(event, "mount_point", place)
        put(event, "source", source)
        event["fs_type"] = kind
        event["read_only"] = bool(room.f_flag & os.ST_RDONLY)
        event["size_bytes"] = room.f_blocks * room.f_frsize
        event["used_bytes"] = (room.f_blocks - room.f_bfree) * room.f_frsize
        event["available_bytes"] = room.f_bavail * room.f_frsize
        event["inodes"], event["inodes_free"] = room.f_files, room.f_ffree
        yield event


def _mounts() -> list[tuple[bytes, bytes, bytes, bytes, str]]:
    """(place, device, root of it, source, kind), each place once: of two on one place, the later one covers the earlier."""
    with open("/proc/self/mountinfo", "rb") as file:
        lines = file.read().removesuffix(b"\n").split(b"\n")  # a carriage return is written as it is
    found: dict[bytes, tuple[bytes, bytes, bytes, bytes, str]] = {}
    for line in reversed(lines):
        before, _, behind = line.partition(b" - ")
        fields, about = before.split(b" "), behind.split(b" ")
        place, kind = _plain(fields[4]), about[0].decode("utf-8", "replace")
        found.setdefault(place, (place, fields[2], _plain(fields[3]), _plain(about[1]), kind))
    return list(found.values())


def _once(
    mounts: list[tuple[bytes, bytes, bytes, bytes, str]],
) -> list[tuple[bytes, bytes, bytes, bytes, str]]:
    """Of each device the mount that shows most of it, and of those the one nearest to the root."""
    best: dict[bytes, tuple[bytes, bytes, bytes, bytes, str]] = {}
    for mount in mounts:
        known = best.get(mount[1])
        if known is None or _rank(mount) < _rank(known):
            best[mount[1]] = mount
    return [mount for mount in mounts if best[mount[1]] is mount]


def _rank(mount: tuple[bytes, bytes, bytes, bytes, str]) -> tuple[int, int, bytes]:
    return len(mount[2]), len(mount[0]), mount[0]


def _mount_of(
    path: str, mounts: list[tuple[bytes, bytes, bytes, bytes, str]]
) -> tuple[bytes, bytes, bytes, bytes, str]:
    """The mount that a file is on: the longest place above it."""
    try:
        real = os.path.realpath(os.fsencode(path), strict=True)
    except OSError as problem:
        raise as_fail(problem, path) from problem
    above = [mount for mount in mounts if real == mount[0] or real.startswith(mount[0].rstrip(b"/") + b"/")]
    return max(above, key=lambda mount: len(mount[0]))


def _plain(raw: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), raw)
