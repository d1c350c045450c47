"""Mounted file systems, from /proc/self/mountinfo (blanks and line ends in it are octal escapes) and statvfs(3)."""

from __future__ import annotations

import os
import re

from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def filesystems(upstream: Upstream) -> Iterator[Any]:
    seen: set[bytes] = set()
    wanted = upstream.inputs["fs_type"]
    with open("/proc/self/mountinfo", "rb") as file:
        lines = file.read().removesuffix(b"\n").split(b"\n")  # a carriage return is written as it is
    for line in reversed(lines):  # of two on one place, the later one covers the earlier
        before, _, behind = line.partition(b" - ")
        fields, about = before.split(b" "), behind.split(b" ")
        place = _plain(fields[4])
        if place in seen or (wanted and about[0].decode("utf-8", "replace") not in wanted):
            continue
        seen.add(place)
        try:
            room = os.statvfs(place)
        except OSError:
            continue  # not to be seen from here
        if room.f_blocks == 0 and not upstream.inputs["all"]:
            continue
        event: dict[str, Any] = {"type": "filesystem"}
        put(event, "mount_point", place)
        put(event, "source", _plain(about[1]))
        event["fs_type"] = about[0].decode("utf-8", "replace")
        event["read_only"] = bool(room.f_flag & os.ST_RDONLY)
        event["size_bytes"] = room.f_blocks * room.f_frsize
        event["used_bytes"] = (room.f_blocks - room.f_bfree) * room.f_frsize
        event["available_bytes"] = room.f_bavail * room.f_frsize
        event["inodes"], event["inodes_free"] = room.f_files, room.f_ffree
        yield event


def _plain(raw: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), raw)
