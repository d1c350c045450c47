"""One log to any number of readers: each batch is encoded once, and a slow reader slows no other.

Theory of operation. A `Feed` follows one log: of this process, or of the files of another one. It encodes each batch once,
as a chunk of HTTP with the messages of the whole batch, and writes the same bytes to every reader that has read all before;
a reader has no task and no queue. A reader whose socket is full is passed over: it is only a cursor. When its socket has
room again it goes on, from the window of the feed or from the files of the log, a piece at a time, until it has everything.
So the buffer of its socket is the only queue, and a stalled reader costs no more than that.

A comment goes to a reader that had nothing for KEEP_ALIVE seconds. A reader that took nothing for STALLED seconds is
dropped: it comes back with its cursor.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from operable.host.session.log import SessionLog
from operable.host.session.log_files import POLL_INTERVAL, FileCursor, Record
from operable.kernel.errors import Fail
from operable.serve.http.connection import StreamConnection, frame

KEEP_ALIVE = 25.0  # seconds; AIP-46 asks for 25 to 30
STALLED = 60.0  # seconds
MOST_READERS = 256
WINDOW = 256 * 1024  # bytes of encoded messages that a feed keeps for readers that are a little behind
_WRITE = 64 * 1024  # bytes that are collected for one write, if they are there
_TICK = 5.0  # seconds between two looks at the readers
_LOOKS = 20  # a follower asks about the session itself only every so many looks at its files
_COMMENT = frame(b":\n\n")


class Projection(Protocol):
    """How records become messages. One that remembers the records before belongs to one reader."""

    def encode(self, records: Sequence[Record]) -> bytes: ...


class LogSource(Protocol):
    """A log that a feed follows, from its present end."""

    folder: str

    @property
    def last_id(self) -> int: ...

    @property
    def closed(self) -> bool: ...

    def take(self) -> list[Record]: ...

    async def changed(self) -> None: ...


class OwnLog:
    """A log that this process writes."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.folder = log.folder
        self.take = log.reader(log.last_id).take
        self.changed = log.changed

    @property
    def last_id(self) -> int:
        return self._log.last_id

    @property
    def closed(self) -> bool:
        return self._log.closed


class OtherLog:
    """A log that another process writes, or wrote: its files are looked at again and again until it is over."""

    def __init__(self, folder: str, last_id: int, is_over: Callable[[], bool]) -> None:
        self.folder = folder
        self.last_id = last_id
        self.closed = False
        self._cursor = FileCursor(folder, last_id)
        self._is_over = is_over
        self._looks = 0
        self._last_look = False

    def take(self) -> list[Record]:
        records = self._cursor.read()
        if records:
            self.last_id = records[-1].id
        elif self._last_look:
            self.closed = True
            self._cursor.close()
        return records

    async def changed(self) -> None:
        """Until there may be more. Once its session has ended, its files are looked at for a last time."""
        if self._looks % _LOOKS == 0 and self._is_over():
            self._last_look = True
            return
        self._looks += 1
        await asyncio.sleep(POLL_INTERVAL)


class FeedReader:
    """One client: its place in the log, and its connection. `projection`: None shares the encoding of the feed."""

    def __init__(
        self, feed: "Feed", connection: StreamConnection, after: int, projection: Projection | None
    ) -> None:
        self.position = after
        self.projection = projection
        self.done: asyncio.Future[None] = feed.loop.create_future()
        self.written_at = feed.loop.time()
        self._feed = feed
        self._connection = connection
        self._files: FileCursor | None = None
        self._full_since: float | None = None
        self._status: bytes = b""
        connection.on_lost = self.finish
        connection.on_resume = self._resume

    def finish(self) -> None:
        """No more is written to it."""
        self._feed.readers.discard(self)
        self._close_files()
        if not self.done.done():
            self.done.set_result(None)

    def push(self, data: bytes, records: Sequence[Record], before: int) -> None:
        """A batch of the feed, if this reader has everything that comes before it."""
        if self.position == before and not self._is_full():
            self._write(data if self.projection is None else frame(self.projection.encode(records)))
            self.position = records[-1].id

    def begin(self) -> None:
        """The status as it is, whatever of the log is still to come."""
        if self._status != self._feed.status:
            self._status = self._feed.status
            self._write(self._status)
        self.advance()

    def advance(self) -> None:
        """Go on where it is: one piece, then another one when the others have had their turn."""
        if self.done.done() or self._is_full():
            return
        feed = self._feed
        if self.position < feed.last_id:
            self._write(self._piece())
            feed.loop.call_soon(self.advance)
            return
        self._close_files()
        if self._status != feed.status:
            self._status = feed.status
            self._write(feed.status)
        if feed.ended:
            self.finish()

    def look(self, now: float) -> None:
        """Keep it alive, or drop it."""
        if self._connection.is_closed:
            self.finish()
        elif self._is_full():
            if now - (self._full_since or now) >= STALLED:
                self._connection.abort()
                self.finish()
        elif now - self.written_at > KEEP_ALIVE - _TICK:
            self._write(_COMMENT)

    def _piece(self) -> bytes:
        """What comes next: from the window, else from the files. A removed part of the log is one record, a gap."""
        feed = self._feed
        if self.projection is None and (shared := feed.window_behind(self.position)) is not None:
            self._close_files()
            self.position = feed.last_id
            return shared
        if self._files is None:
            self._files = FileCursor(feed.source.folder, self.position)
        records = [record for record in self._files.read() if record.id <= feed.last_id]
        if not records:
            raise Fail("io", "LOG_DAMAGED", "events are missing in the log", target=feed.source.folder)
        self.position = records[-1].id
        return frame((self.projection or feed.projection).encode(records))

    def _write(self, data: bytes) -> None:
        if len(data) > len(_EMPTY):
            self._connection.write(data)
        self.written_at = self._feed.loop.time()

    def _is_full(self) -> bool:
        if not self._connection.is_full:
            return False
        if self._full_since is None:
            self._full_since = self._feed.loop.time()
        return True

    def _resume(self) -> None:
        self._full_since = None
        self.advance()

    def _close_files(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None


_EMPTY = frame(b"")  # would end the response


class Feed:
    """One log that has readers.

    `status` gives a message about what the log is of, empty if it has none. A reader gets it first, and again when it has
    changed (`renew`), behind the events before it. The last one comes behind the last event.
    """

    def __init__(
        self, source: LogSource, projection: Projection, status: Callable[[], bytes] = lambda: b""
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.source = source
        self.projection = projection
        self.readers: set[FeedReader] = set()
        self.last_id = source.last_id
        self.status = b""
        self._status = status
        self.ended = False
        self._window: deque[tuple[int, bytes]] = deque()  # the number before the first event, and its bytes
        self._window_size = 0
        self._task = self.loop.create_task(self._follow())

    def attach(
        self, connection: StreamConnection, after: int, projection: Projection | None = None
    ) -> FeedReader:
        reader = FeedReader(self, connection, min(after, self.last_id), projection)
        self.readers.add(reader)
        self.renew()
        reader.begin()
        return reader

    def renew(self) -> None:
        """Give every reader the status if it is another one."""
        message = self._status()
        if not message or (status := frame(message)) == self.status:
            return
        while records := self.source.take():  # what was written before it comes before it
            self._deliver(records)
        self.status = status
        for reader in list(self.readers):
            if reader.position == self.last_id:
                reader.advance()

    def window_behind(self, position: int) -> bytes | None:
        """Everything behind this number, if the window reaches back to it."""
        for index, (before, _) in enumerate(self._window):
            if before == position:
                return b"".join(data for _, data in _from(self._window, index))
        return None

    def close(self) -> None:
        self._task.cancel()
        for reader in list(self.readers):
            reader.finish()

    async def _follow(self) -> None:
        source = self.source
        while not source.closed:
            while records := source.take():
                self._deliver(records)
            if not source.closed:
                await source.changed()
        while records := source.take():
            self._deliver(records)
        self.renew()
        self.ended = True
        for reader in list(self.readers):
            reader.advance()

    def _deliver(self, records: Sequence[Record]) -> None:
        """Encode a batch, and those that wait behind it, and write them to every reader that has all before them."""
        before = self.last_id
        shared = all(reader.projection is None for reader in self.readers)
        messages = self.projection.encode(records)
        while len(messages) < _WRITE and (more := self.source.take()):
            records = more if shared else [*records, *more]
            messages += self.projection.encode(more)
        self.last_id = records[-1].id
        data = frame(messages)
        self._window.append((before, data))
        self._window_size += len(data)
        while self._window_size > WINDOW and len(self._window) > 1:
            self._window_size -= len(self._window.popleft()[1])
        for reader in list(self.readers):
            reader.push(data, records, before)


def _from(window: deque[tuple[int, bytes]], index: int) -> Iterator[tuple[int, bytes]]:
    for number, piece in enumerate(window):
        if number >= index:
            yield piece


class Feeds:
    """The feeds of a daemon, by name: one for each log that has readers, and one timer for all readers."""

    def __init__(self) -> None:
        self._feeds: dict[str, Feed] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        return sum(len(feed.readers) for feed in self._feeds.values())

    @property
    def names(self) -> list[str]:
        """The logs that have readers."""
        return list(self._feeds)

    def feed(
        self,
        name: str,
        source: Callable[[], LogSource],
        projection: Projection,
        status: Callable[[], bytes] = lambda: b"",
    ) -> Feed:
        """The feed of this name, made if it has none. Raises Fail rate_limited/TOO_MANY_READERS."""
        if self.count >= MOST_READERS:
            message = f"{MOST_READERS} streams are open"
            raise Fail("rate_limited", "TOO_MANY_READERS", message, hint="close one of them")
        feed = self._feeds.get(name)
        if feed is None or feed.ended:
            feed = self._feeds[name] = Feed(source(), projection, status)
        if self._timer is None:
            self._timer = feed.loop.call_later(_TICK, self._look)
        return feed

    def renew(self, name: str) -> None:
        """What a log is of may have changed."""
        feed = self._feeds.get(name)
        if feed is not None:
            feed.renew()

    def release(self, name: str, reader: FeedReader) -> None:
        """A reader has left; a feed without readers ends."""
        reader.finish()
        feed = self._feeds.get(name)
        if feed is not None and not feed.readers:
            feed.close()
            del self._feeds[name]

    def close(self) -> None:
        """End every stream."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for feed in list(self._feeds.values()):
            feed.close()
        self._feeds.clear()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for feed in list(self._feeds.values()):
            for reader in list(feed.readers):
                reader.look(now)
        self._timer = loop.call_later(_TICK, self._look) if self._feeds else None
