"""What an agent behind a web address answers: one document, a stream of events, or why it does not.

Bounded while it is read: a server that never ends a line, or an answer, costs no more than MESSAGE_LIMIT. Where a stream
was when it broke off, and when the server wants to be asked again, is its `StreamPosition`. What is done with a message
is for `operable.host.http.transport` to say.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from operable.kernel.data_class import dataclass
from operable.kernel.redact import redact_url
from operable.wire.lines import LineSplitter, LineTooLong

MESSAGE_LIMIT = 32 * 1024 * 1024
ERROR_SHOWN = 1000
# Seconds before a stream is asked for again: twice as long each time that nothing came, up to the longest.
_FIRST_DELAY, _LONGEST_DELAY = 0.5, 60.0
# What travels back in a header: printable, and short enough for every server's limit.
_ID = re.compile(rb"[\x20-\x7e\x80-\xff]{1,2000}")
_RETRY = re.compile(rb"[0-9]{1,9}")


class Envelope(msgspec.Struct, rename="camel"):
    """What of a message says whether it asks, answers, or takes back what was asked."""

    id: int | str | None = None
    method: str | None = None
    params: Any = None

    @property
    def taken_back(self) -> int | str | None:
        """The request that the message cancels."""
        if self.method != "notifications/cancelled" or not isinstance(self.params, dict):
            return None
        found = self.params.get("requestId")
        return found if isinstance(found, int | str) else None


def envelope(line: bytes) -> Envelope | None:
    """None: this is none, or several in one."""
    try:
        return msgspec.json.decode(line, type=Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@dataclass(slots=True)
class StreamPosition:
    """Where a stream was when it broke off. `silent`: how often in a row it was opened and brought nothing."""

    last_id: bytes | None = None
    retry: float | None = None  # seconds, as the server said
    silent: int = 0

    def note(self, line: bytes) -> None:
        """A line `id:` or `retry:`; what cannot be taken is as if it were not there."""
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"id":
            self.last_id = value if _ID.fullmatch(value) else None
            self.silent = 0
        elif field == b"retry" and _RETRY.fullmatch(value):
            self.retry = int(value) / 1000

    def headers(self) -> dict[str, bytes]:
        return {} if self.last_id is None else {"last-event-id": self.last_id}

    def delay(self) -> float:
        """How long to wait before it is opened again: what the server said, and longer if nothing comes."""
        grown = min(_FIRST_DELAY * 2 ** min(self.silent - 1, 10), _LONGEST_DELAY) if self.silent else 0.0
        if self.retry is not None and self.silent < 2:
            return self.retry
        return max(self.retry or 0.0, grown, _FIRST_DELAY)


async def events(response: Any, place: StreamPosition | None = None) -> AsyncIterator[tuple[str, bytes]]:
    """(name, data) of a stream of server-sent events."""
    place = place or StreamPosition()
    name, data, size, number = "message", [], 0, b""
    async for line in _lines(response):
        if line.startswith(b"id:"):
            number = line  # noted when its event is whole: one that broke off in the middle is to come again
        elif line.startswith(b"retry:"):
            place.note(line)
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            size += len(line)
            if size > MESSAGE_LIMIT:
                raise LineTooLong(len(data), MESSAGE_LIMIT)
        elif line.startswith(b"event:"):
            name = line[6:].strip().decode("utf-8", "replace")
        elif not line:
            place.note(number)
            if any(data):  # an event without text only says where the stream is
                place.silent = 0
                yield name, b"\n".join(data)
            name, data, size, number = "message", [], 0, b""


async def _lines(response: Any) -> AsyncIterator[bytes]:
    """The lines of a stream, by CR, LF or both; the client's own also end at U+2028 and others, which JSON may contain."""
    splitter = LineSplitter(MESSAGE_LIMIT)
    after_cr = False
    async for chunk in response.aiter_bytes():
        rest = chunk.removeprefix(b"\n") if after_cr else chunk
        after_cr = chunk.endswith(b"\r")
        for line in splitter.feed(rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")):
            yield line
        if splitter.error is not None:
            raise splitter.error


async def body(response: Any) -> bytes:
    """An answer that is one document."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MESSAGE_LIMIT:
            raise LineTooLong(1, MESSAGE_LIMIT)
    return bytes(data)


async def refusal(response: Any) -> str:
    """Why a request was not served, in the server's words as far as they are short."""
    status = f"HTTP {response.status_code}"
    if 300 <= response.status_code < 400:
        return f"{status}: it redirects to {redact_url(response.headers.get('location', 'nowhere'))}"
    said = b""
    async for chunk in response.aiter_bytes():
        said += chunk
        if len(said) > ERROR_SHOWN:
            break
    text = said.decode("utf-8", "replace")
    if len(said) > ERROR_SHOWN:
        # At a blank: half of a secret would not be recognised by the code that masks it later.
        text = text[:ERROR_SHOWN].rpartition(" ")[0] + " [...]"
    return f"{status}: {text}"
