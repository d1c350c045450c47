"""Reading a session log from its files: by cursor, from any process, while its owner writes.

A cursor is the number of the last event that was read. Segments are named by the number of their first event, and numbers
have no holes, so the place of a cursor is found by name and then by bisection in the file; no index has to be kept, or
repaired after a crash. Only whole lines are read: a line that is being written, or was torn by a crash, is not there yet.

A line that is not a record (a newer version's event, a damaged disk) becomes a notice with its number, never an exception.
"""

import os
import time
from collections.abc import Iterator

import msgspec

from operable.state.line_file import line_start, lines_back, tail, whole_lines
from operable.wire.events import AnyEvent, Notice
from operable.wire.lines import split_lines

CHUNK = 256 * 1024
# How often a follower in another process looks for more; a person does not notice, and it costs one system call.
POLL_INTERVAL = 0.05
# The code of the notice that contains what the user said: not one of the agent's events, but part of what was spoken.
USER_MESSAGE = "user_message"
_PREFIX, _SUFFIX, _DIGITS = "events-", ".jsonl", 16


class Record(msgspec.Struct, frozen=True, gc=False):
    """One event of a session: its number (1, 2, …), when it was written (milliseconds since 1970), what it says."""

    id: int
    at: int
    event: AnyEvent


_DECODER = msgspec.json.Decoder(Record)


class FileCursor:
    """A place in a log. `read` gives what is behind it, in pieces; [] when that is nothing for now."""

    def __init__(self, folder: str, after: int = 0) -> None:
        self.folder = folder
        self.position = after
        self._fd: int | None = None
        self._first = 0  # of the segment that is open
        self._offset = 0

    def read(self) -> list[Record]:
        """The next records: as many as about CHUNK bytes hold."""
        if self._fd is None:
            gap = self._open()
            if gap is not None:
                return [gap]
            if self._fd is None:
                return []
        data = self._lines()
        if not data and self._next_segment():
            return self.read()
        records = [record for record in decode_records(data) if record.id > self.position]
        if records:
            self.position = records[-1].id
        return records

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    __del__ = close

    def _open(self) -> Record | None:
        """Find the segment of the next event; a notice instead, when it has been removed."""
        wanted = self.position + 1
        known = segments(self.folder)
        before = [first for first in known if first <= wanted]
        if not known:
            return None
        if not before:
            return self._gap(known[0])
        path = os.path.join(self.folder, segment_name(before[-1]))
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # removed since we looked
            return self._open()
        self._first = before[-1]
        self._offset = _offset_of(self._fd, wanted)
        return None

    def _next_segment(self) -> bool:
        """All of this segment is read: is there another to open? Also when ours, and those behind it, were removed."""
        known = segments(self.folder)
        newer = [first for first in known if first > self._first]
        if not newer or (newer[0] > self.position + 1 and self._first in known):
            return False
        if self._fd is not None and os.fstat(self._fd).st_size > self._offset:
            return False  # more was written here before the new segment began
        self.close()
        return True

    def _gap(self, first: int) -> Record:
        lost = {"from": self.position + 1, "to": first - 1}
        self.position = first - 1
        text = "older events were removed to keep the log within its limit"
        return Record(first - 1, int(time.time() * 1000), Notice("log_gap", text, data=lost))

    def _lines(self) -> bytes:
        """Whole lines from here on; a line longer than CHUNK is read whole."""
        if self._fd is None:
            return b""
        data = whole_lines(self._fd, self._offset, CHUNK)
        self._offset += len(data)
        return data


def decode_records(data: bytes) -> list[Record]:
    """The records of whole lines."""
    try:
        return _DECODER.decode_lines(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return list(_one_by_one(data))


def read_log(folder: str, after: int = 0) -> Iterator[Record]:
    """All records behind this number that are there now."""
    cursor = FileCursor(folder, after)
    try:
        while batch := cursor.read():
            yield from batch
    finally:
        cursor.close()


def segments(folder: str) -> list[int]:
    """The numbers of the first events of all segments, in order."""
    try:
        listed = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(
        int(name[len(_PREFIX) : -len(_SUFFIX)])
        for name in listed
        if name.startswith(_PREFIX)
        and name.endswith(_SUFFIX)
        and name[len(_PREFIX) : -len(_SUFFIX)].isdigit()
    )


def segment_name(first: int) -> str:
    return f"{_PREFIX}{first:0{_DIGITS}d}{_SUFFIX}"


def last_record(fd: int) -> tuple[int, Record | None]:
    """Where the last whole line of a segment ends, and its record; (0, None) if the log is empty."""
    end, _ = tail(fd)
    line = next(lines_back(fd, end), None)
    return (0, None) if line is None else (end, decode_records(line)[0])


def _one_by_one(data: bytes) -> Iterator[Record]:
    for line in split_lines(data)[0]:
        try:
            yield _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield _unreadable(line)


def _unreadable(line: bytes) -> Record:
    number, at = _number(line), 0
    text = f"this event cannot be read by this version ({len(line)} bytes)"
    return Record(number, at, Notice("unreadable_event", text))


def _number(line: bytes) -> int:
    """The number that a line begins with; 0 when it is damaged even there (readers then skip it)."""
    if not line.startswith(b'{"id":'):
        return 0
    digits = line[6:26].partition(b",")[0]
    return int(digits) if digits.isdigit() else 0


def _offset_of(fd: int, wanted: int) -> int:
    """Where the line of this event begins, or of the first one behind it: bisection by bytes."""
    low, high = 0, os.fstat(fd).st_size  # the line begins in [low, high]
    while low < high:
        middle = (low + high) // 2
        start, number = _line_at(fd, middle)
        if number is None or number >= wanted:
            high = middle
        else:
            low = start + 1
    return _line_at(fd, low)[0]


def _line_at(fd: int, offset: int) -> tuple[int, int | None]:
    """The first line that begins at or behind this offset: where, and its number (None: there is no whole one)."""
    start = line_start(fd, offset)
    if start is None:
        return os.fstat(fd).st_size, None
    head = os.pread(fd, 32, start)
    return start, _number(head) if b"," in head else None
