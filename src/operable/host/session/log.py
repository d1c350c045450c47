"""The session log: every event with its number, on disk before any reader sees it, and any number of readers by cursor.

Theory of operation. The owner appends batches: one `write` for all events that one chunk of the agent's output gave, as
lines `{"id":…,"at":…,"event":{…}}`, and only then are readers informed. Readers in this process share the newest batches
(at most WINDOW bytes, however many readers and however far behind); a reader that is further behind reads the file, as
do readers in other processes (`operable.host.session.log_files`). So a reader that stalls delays no other process and
costs nothing.

Durability. An event that was shown has been handed to the system: it survives the death of the host, by kill -9 too.
`sync` asks for more, against a power cut: the session calls it after each turn-end and at its close, in a thread.

Secrets. What the session's registry knows is masked before it is written. Text comes in pieces: the end of one that may
begin a secret is held back until the next piece, or at the latest until the end of the turn. So does the progress
of a tool call, until its result.

Files. Segments named by the number of their first event; beyond SEGMENT bytes a new one begins, beyond RETENTION bytes the
oldest go, and a reader of removed events gets one `log_gap` notice in their place. A line that a crash tore is cut off on
opening. A write that fails (disk full) leaves no half line, and raises: what cannot be kept is not shown.
"""

import asyncio
import os
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeGuard

import msgspec

from operable.host.session.log_files import FileCursor, Record, last_record, segment_name, segments
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, StreamMask, as_known
from operable.state.atomic import advise
from operable.wire.events import AnyEvent, Notice, TextDelta, Thought, ToolResult, TurnEnd

# What readers in this process share. A few chunks of a flooding agent: a reader that is further behind reads the file.
WINDOW = 256 * 1024
SEGMENT = 64 * 1024 * 1024
RETENTION = 1024 * 1024 * 1024

_PROGRESS = (
    "tool_progress"  # notices with the output of a call that runs, a piece each (operable.host.acp.calls)
)

_Piece = TextDelta | Thought | Notice
_Voice = tuple[type[AnyEvent], str | None]  # with the id of the call whose progress it is

_encode_lines = msgspec.json.Encoder().encode_lines


class SessionLog:
    """The owner's side of one log. All methods belong to one thread; readers elsewhere go by the files."""

    def __init__(
        self,
        folder: str,
        *,
        secrets: Known | Iterable[str] = (),
        segment_limit: int = SEGMENT,
        retention: int = RETENTION,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.closed = False
        self._known = as_known(secrets)
        # Text, thoughts and the progress of each call have streams of their own: one must not end what another holds back.
        self._held: dict[_Voice, tuple[StreamMask, _Piece]] = {}
        self._segment_limit = segment_limit
        self._retention = retention
        self._clock = clock
        self._window: deque[list[Record]] = deque()
        self._sizes: deque[int] = deque()
        self._window_size = 0
        self._readers: weakref.WeakSet[LogReader] = weakref.WeakSet()
        self._changed = asyncio.Event()
        self._fd, self._size, self.last_id = _open_newest(folder)

    def append(self, events: Sequence[AnyEvent]) -> list[Record]:
        """Write the events, then show them. Fail io/LOG_WRITE_FAILED: none of them is in the log."""
        if self.closed:
            raise Fail("conflict", "LOG_CLOSED", "the session log is closed", target=self.folder)
        return self._keep(self._joined(events) if self._known else events)

    def _keep(self, events: Sequence[AnyEvent]) -> list[Record]:
        if not events:  # all of it is held back; an empty batch would mislead readers
            return []
        now = int(self._clock() * 1000)
        records = [Record(number, now, event) for number, event in enumerate(events, self.last_id + 1)]
        data = _encode_lines(records)
        if self._known and self._known.data(data) is not data:
            records = [_masked(record, self._known) for record in records]
            data = _encode_lines(records)
        if self._size >= self._segment_limit:
            self._roll()
        self._write(data)
        self.last_id += len(records)
        self._show(records, len(data))
        return records

    def _joined(self, events: Sequence[AnyEvent]) -> list[AnyEvent]:
        """The events, with a secret that was cut into several pieces of text masked as one."""
        found: list[AnyEvent] = []
        for event in events:
            if isinstance(event, TextDelta | Thought) or _is_progress(event):
                found += self._shown(event)
                continue
            if isinstance(event, TurnEnd):
                found += self._rest(list(self._held))
            elif isinstance(event, ToolResult):
                found += self._rest([(Notice, event.tool_call_id)])
            found.append(event)
        return found

    def _shown(self, event: _Piece) -> list[AnyEvent]:
        """The piece as far as it can be shown by now."""
        voice = (type(event), event.data["toolCallId"] if isinstance(event, Notice) else None)
        mask = self._held[voice][0] if voice in self._held else self._known.stream()
        said = _text(event)
        text = mask.feed(said)
        self._held.pop(voice, None)
        if mask.holds:
            self._held[voice] = mask, event
        if not text and said:
            return []
        return [event if text == said else _saying(event, text)]

    def _rest(self, voices: Sequence[_Voice]) -> list[AnyEvent]:
        """What was held back, when nothing can follow it any more. No other event ends a text: an agent could cut a secret
        in two with one.
        """
        ended = [self._held.pop(voice) for voice in voices if voice in self._held]
        return [_saying(event, mask.flush()) for mask, event in ended]

    def reader(self, after: int = 0) -> "LogReader":
        """A reader in this process that begins behind the event with this number; 0: at the first."""
        reader = LogReader(self, after)
        self._readers.add(reader)
        return reader

    def release(self, reader: "LogReader") -> None:
        """Keep nothing in memory for this reader any more; it can go on from the file."""
        self._readers.discard(reader)
        self.caught_up()

    def sync(self) -> None:
        """Have what was written so far put on the disk, in a thread. Best effort: no caller waits for it."""
        if self.closed:
            return  # closing has done it, and the number of the descriptor may belong to another file by now
        # A copy: the original may be closed, and its number taken, before the thread comes to it.
        copy = os.dup(self._fd)
        try:
            asyncio.get_running_loop().run_in_executor(None, _sync_and_close, copy)
        except RuntimeError:
            os.close(copy)  # the process is ending and starts no more threads

    def close(self) -> None:
        """No more events. Readers get what there is, then their end."""
        if not self.closed:
            rest = self._rest(list(self._held))
            if rest:
                with suppress(Fail):  # a full disk: the owner has learnt it from the append before
                    self._keep(rest)
            self.closed = True
            _sync_and_close(self._fd)
            self._tell()

    async def changed(self) -> None:
        """Until something was appended, or the log was closed."""
        await self._changed.wait()

    def shared(self, after: int) -> list[Record]:
        """What the window has directly behind this number; [] when it does not reach back that far."""
        for batch in self._window:
            if batch[-1].id > after:
                first = batch[0].id
                if first > after + 1:
                    return []
                return batch if first == after + 1 else batch[after + 1 - first :]
        return []

    def caught_up(self) -> None:
        """A reader has everything: when that is true of all, the window is not needed until the next event."""
        if self._window and all(reader.position >= self.last_id for reader in self._readers):
            self._window.clear()
            self._sizes.clear()
            self._window_size = 0

    def _show(self, records: list[Record], size: int) -> None:
        if self._readers:
            self._window.append(records)
            self._sizes.append(size)
            self._window_size += size
            while self._window_size > WINDOW and len(self._window) > 1:
                self._window.popleft()
                self._window_size -= self._sizes.popleft()
        self._tell()

    def _tell(self) -> None:
        # Wakes every reader that waits now; a later reader looks first.
        self._changed.set()
        self._changed.clear()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, view[written:])
        except OSError as error:
            if written:
                os.ftruncate(self._fd, self._size)
            raise Fail(
                "io",
                "LOG_WRITE_FAILED",
                f"the session log cannot be written: {error.strerror}",
                target=self.folder,
                hint="free some space; the session was stopped because its events could not be kept",
            ) from error
        self._size += len(data)

    def _roll(self) -> None:
        try:
            fd = _create(self.folder, self.last_id + 1)
        except OSError as error:
            raise _unusable(self.folder, error) from error
        _sync_and_close(self._fd)
        self._fd, self._size = fd, 0
        total = 0
        for first in reversed(segments(self.folder)):
            path = os.path.join(self.folder, segment_name(first))
            total += os.stat(path).st_size
            if total > self._retention and first <= self.last_id:
                os.unlink(path)


class LogReader:
    """One reader in the owner's process: where it is, and nothing else until it asks."""

    def __init__(self, log: SessionLog, after: int) -> None:
        self.position = after
        self._log = log
        self._file: FileCursor | None = None

    def take(self) -> list[Record]:
        """The next records that are there, in the batches in which they came; [] if no event is there now."""
        log = self._log
        if self.position >= log.last_id:
            return []
        batch = log.shared(self.position)
        if batch:
            self._file = None
        else:
            if self._file is None:
                self._file = FileCursor(log.folder, self.position)
            batch = self._file.read()
            if not batch:  # cannot be: the log says that there is more
                raise Fail("io", "LOG_DAMAGED", "events are missing at the end of the log", target=log.folder)
        self.position = batch[-1].id
        if self.position >= log.last_id:
            self._file = None
            log.caught_up()
        return batch

    def skip(self, keep: int) -> int:
        """Go on with the last events that are there now, at most `keep`; the number of those that are left out."""
        skipped = max(0, self._log.last_id - keep - self.position)
        if skipped:
            self.position += skipped
            self._file = None
        return skipped

    async def batches(self) -> AsyncIterator[list[Record]]:
        """Everything there is and will be, until the log is closed."""
        while True:
            batch = self.take()
            if batch:
                yield batch
            elif self._log.closed:
                return
            else:
                await self._log.changed()

    async def __aiter__(self) -> AsyncIterator[Record]:
        async for batch in self.batches():
            for record in batch:
                yield record


def _is_progress(event: AnyEvent) -> TypeGuard[Notice]:
    if not isinstance(event, Notice) or event.code != _PROGRESS or not isinstance(event.data, dict):
        return False
    return isinstance(event.data.get("toolCallId"), str)


def _text(event: _Piece) -> str:
    return event.message if isinstance(event, Notice) else event.text


def _saying(event: _Piece, text: str) -> AnyEvent:
    if isinstance(event, Notice):
        return msgspec.structs.replace(event, message=text)
    return msgspec.structs.replace(event, text=text)


def _masked(record: Record, known: Known) -> Record:
    """The record with its texts masked; its form stays, whatever the secrets are."""
    members = msgspec.to_builtins(record.event)
    shown = {name: item if name == "type" else known.value(item) for name, item in members.items()}
    return Record(record.id, record.at, msgspec.convert(shown, AnyEvent))


def _open_newest(folder: str) -> tuple[int, int, int]:
    """Descriptor and size of the segment to append to, and the number of the last event; a torn line is cut off."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        known = segments(folder)
        if not known:
            return _create(folder, 1), 0, 0
        path = os.path.join(folder, segment_name(known[-1]))
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(folder, error) from error
    end, record = last_record(fd)
    os.ftruncate(fd, end)
    return fd, end, record.id if record is not None else known[-1] - 1


def _create(folder: str, first: int) -> int:
    path = os.path.join(folder, segment_name(first))
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _unusable(folder: str, error: OSError) -> Fail:
    return Fail(
        "io",
        "LOG_UNUSABLE",
        f"the session log cannot be opened: {error.strerror}",
        target=folder,
        hint=advise(error),
    )


def _sync_and_close(fd: int) -> None:
    try:
        # macOS has no fdatasync; the difference is only the time stamp of the file.
        getattr(os, "fdatasync", os.fsync)(fd)
    except OSError:
        pass  # a pipe, a full disk: the bytes are where they are, and the owner has learnt it from `write`
    finally:
        os.close(fd)
