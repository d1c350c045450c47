"""Messages of server-sent events: how the records of a log become them, and the response that has a feed as its body.

Each event of the log is a message of its type, with the number of the event as `id`: a client that comes back with
`Last-Event-ID` goes on behind it. Where retention has removed events there is one `gap`.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from operable.host.session.log_files import Record
from operable.kernel.errors import Fail
from operable.serve.http.connection import KEY, StreamConnection
from operable.serve.http.feed import STALLED, Feed, FeedReader, Feeds, Projection
from operable.serve.session.lines import LineProjector, parse_cursor
from operable.wire import events as e

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_FORMS = {
    kind: b"id: %%d\nevent: %b\ndata: %%b\n\n" % str(kind.__struct_config__.tag).encode()
    for kind in (*e.Event.__args__, *e.Extension.__args__)
}


def message(name: str, data: object, cursor: int | None = None) -> bytes:
    """One message; `cursor` is where a client goes on behind it."""
    head = b"" if cursor is None else b"id: %d\n" % cursor
    return head + b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(data))


class TypedMessages:
    """Each event as a message of its type."""

    def encode(self, records: Sequence[Record]) -> bytes:
        # The hot path of a burst: one encoding and one formatting for all events. JSON has no line end of its own.
        events = [record.event for record in records]
        kinds = set(map(type, events))
        if e.Notice in kinds:
            return _with_gaps(records)
        same = len(kinds) == 1  # a burst is pieces of one text
        forms = (
            _FORMS[kinds.pop()] * len(events) if same else b"".join([_FORMS[type(each)] for each in events])
        )
        values: list[int | bytes] = [0] * (2 * len(events))
        values[0::2] = [record.id for record in records]
        values[1::2] = _encode_lines(events).splitlines()
        return forms % tuple(values)


def _with_gaps(records: Sequence[Record]) -> bytes:
    """The same, where one may be what retention has removed."""
    out = bytearray()
    for record in records:
        event = record.event
        if isinstance(event, e.Notice) and event.code == "log_gap":
            out += b"id: %d\nevent: gap\ndata: %b\n\n" % (record.id, _encode(event.data))
        else:
            out += _FORMS[type(event)] % (record.id, _encode(event))
    return bytes(out)


class NoticeMessages:
    """The notices of a log whose events are only notices: the code is the type of the message, the data is the message."""

    def encode(self, records: Sequence[Record]) -> bytes:
        out = bytearray()
        for record in records:
            event = record.event
            if isinstance(event, e.Notice):
                name = b"gap" if event.code == "log_gap" else event.code.encode()
                out += b"id: %d\nevent: %b\ndata: %b\n\n" % (record.id, name, _encode(event.data))
        return bytes(out)


class LineMessages:
    """The lines of AIP-46, for one reader: what is not complete belongs to it."""

    def __init__(self, cursor: str) -> None:
        self._projector = LineProjector(cursor)
        self.after = self._projector.after

    def encode(self, records: Sequence[Record]) -> bytes:
        out = bytearray()
        for record in records:
            for each in self._projector.feed(record):
                data = _encode({"line": each.line, "stream": each.stream})
                out += b"id: %b\nevent: line\ndata: %b\n\n" % (each.cursor.encode(), data)
        return bytes(out)


class StreamPlace:
    """The place of one stream among those of its token. Who takes the token back ends it."""

    def __init__(self) -> None:
        self._finish: Callable[[], None] | None = None
        self._is_over = False

    def hold(self, finish: Callable[[], None]) -> None:
        """`finish` ends the stream."""
        self._finish = finish
        if self._is_over:
            finish()

    def end(self) -> None:
        self._is_over = True
        if self._finish is not None:
            self._finish()


class EventStream:
    """The response of a stream: an ASGI application that lasts until the log ends or the client leaves.

    `place` is held as long: what counts the streams of a client.
    """

    def __init__(
        self,
        feeds: Feeds,
        name: str,
        feed: Feed,
        after: int,
        projection: Projection | None = None,
        first: bytes = b"",
        place: contextlib.AbstractContextManager[StreamPlace] | None = None,
    ) -> None:
        self._place = place or contextlib.nullcontext(StreamPlace())
        self._feeds, self._name, self._feed = feeds, name, feed
        self._after, self._projection, self._first = after, projection, first

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        with self._place as place:
            await self._serve(place, scope, send)

    async def _serve(self, place: StreamPlace, scope: Any, send: Any) -> None:
        connection: StreamConnection = scope[KEY]
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if self._first:
            await send({"type": "http.response.body", "body": self._first, "more_body": True})
        reader: FeedReader = self._feed.attach(connection, self._after, self._projection)
        place.hold(reader.finish)
        try:
            await reader.done
        finally:
            self._feeds.release(self._name, reader)
            connection.on_lost = connection.on_resume = None
        try:
            async with asyncio.timeout(STALLED):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            connection.abort()


def require_streaming(scope: dict[str, Any]) -> None:
    """Raises Fail usage/HTTP_TOO_OLD for a client that cannot read a response without a length."""
    if scope["http_version"] == "1.0":
        raise Fail("usage", "HTTP_TOO_OLD", "a stream needs HTTP/1.1")


def read_cursor(text: str) -> int:
    """The number of the event behind which a client wants to go on. Raises Fail usage/CURSOR_INVALID."""
    number, part = parse_cursor(text)
    if part:
        raise Fail("usage", "CURSOR_INVALID", "this stream has whole events", target=text[:40])
    return number
