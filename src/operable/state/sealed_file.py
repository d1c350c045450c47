"""The files of a sealed log: the newest, the full ones beside it, and their lines, read with bounded memory.

A full file has the name `<log>.<number of its first record>`, twelve digits, so that names sort as the records do. Only
the newest file changes. A line longer than LINE_LIMIT is not a record: it is read in pieces, and each piece is not one
either.
"""

import os
import re
from collections.abc import Iterator
from typing import BinaryIO

from operable.state.atomic import open_private, opened
from operable.state.line_file import lines_back, tail

LINE_LIMIT = 4 * 1024 * 1024
"""No record is longer; formats replace what is large by its digest long before."""


def full_files(path: str) -> list[str]:
    """The full files of a log, oldest first."""
    folder, name = os.path.dirname(path) or ".", os.path.basename(path)
    full = re.compile(re.escape(name) + r"\.\d{12}\Z")
    try:
        return [os.path.join(folder, each) for each in sorted(os.listdir(folder)) if full.match(each)]
    except FileNotFoundError:
        return []


def lines_of(path: str) -> Iterator[bytes]:
    """The lines of a file that does not change."""
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        yield from bounded_lines(file, os.fstat(file.fileno()).st_size)


def bounded_lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines among the next `size` bytes; the last one may have no end."""
    while size > 0 and (line := file.readline(min(size, LINE_LIMIT))):
        size -= len(line)
        yield line


class LogLines:
    """The lines of one file of a log as it was at one moment: its first `size` bytes, from the beginning or from the end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        return bounded_lines(self._file, self._size)

    def back(self) -> Iterator[tuple[int, bytes]]:
        """(where it begins, the line), the last one first: a reader of a few pays for a few."""
        fd, at = self._file.fileno(), self._size
        end, _ = tail(fd, self._size, limit=LINE_LIMIT)
        if 0 <= end < at:
            yield end, os.pread(fd, at - end, end)  # torn
        if end < 0:
            end = at
        for line in lines_back(fd, end, limit=LINE_LIMIT):
            end -= len(line)
            yield end, line
        if (
            end > 0
        ):  # a line that is too long to be a record: what is before it is read in the other direction
            self._file.seek(0)
            places, start = [], 0
            for line in bounded_lines(self._file, end):
                places.append((start, line))
                start += len(line)
            yield from reversed(places)

    def number(self, place: int) -> int:
        """The number of the line that begins there, from 1."""
        self._file.seek(0)
        count = 0
        while place > 0 and (data := self._file.read(min(place, LINE_LIMIT))):
            place -= len(data)
            count += data.count(b"\n")
        return count + 1


def last_line(path: str) -> bytes | None:
    """The last whole line of a file. Returns None if the file does not exist."""
    with opened(path, os.O_RDONLY) as fd:
        return next(lines_back(fd, tail(fd, limit=LINE_LIMIT)[0], limit=LINE_LIMIT), None)
