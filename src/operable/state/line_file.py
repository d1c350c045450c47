"""The lines of a file on disk, found by their place: behind an offset, or from the end of the file.

A reader of a few lines pays for a few: windows of the file are searched for LF until enough of it is known. A window grows
with the line that it has to hold, so a long line is not copied again for each window. `limit` bounds the length of a line;
None means that every line of the file may be held in memory. Callers own the descriptor and what a line means.

Lines out of a stream of chunks are `operable.wire.lines`.
"""

import os
from collections.abc import Iterator

_WINDOW = 16 * 1024  # holds the last record of most logs


def whole_lines(fd: int, offset: int, window: int) -> bytes:
    """The whole lines from here on, about `window` bytes of them; a longer line comes whole. b"" if no line is whole."""
    while True:
        data = os.pread(fd, window, offset)
        end = data.rfind(b"\n") + 1
        if end or len(data) < window:
            return data[:end]
        window *= 4


def line_start(fd: int, offset: int) -> int | None:
    """Where the first line begins at or behind an offset. Returns None if no LF is before such a line."""
    if offset == 0:
        return 0
    at = offset - 1
    while data := os.pread(fd, _WINDOW, at):
        place = data.find(b"\n")
        if place >= 0:
            return at + place + 1
        at += len(data)
    return None


def tail(fd: int, size: int | None = None, *, limit: int | None = None) -> tuple[int, int]:
    """(where the last whole line ends, the size). What is between is a torn line; -1 if that is longer than the limit."""
    size = os.fstat(fd).st_size if size is None else size
    at = size
    while at > 0 and (limit is None or size - at <= limit):
        start = max(0, at - _WINDOW)
        last = os.pread(fd, at - start, start).rfind(b"\n")
        if last >= 0:
            return start + last + 1, size
        at = start
    return (0 if at == 0 else -1), size


def lines_back(fd: int, end: int, *, limit: int | None = None) -> Iterator[bytes]:
    """The whole lines before `end`, the last one first, each with its LF; it ends before a line that is too long."""
    kept, at = b"", end
    while True:
        start = kept.rfind(b"\n", 0, max(0, len(kept) - 1)) + 1
        if kept and (start > 0 or at == 0):
            yield kept[start:]
            kept = kept[:start]
        elif at == 0 or (limit is not None and len(kept) > limit):
            return
        else:
            more = len(kept) if limit is None else min(len(kept), limit + 1 - len(kept))
            above = max(0, at - max(_WINDOW, more))
            kept, at = os.pread(fd, at - above, above) + kept, above
