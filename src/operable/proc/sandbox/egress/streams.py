"""Bytes between a client of the egress proxy and the server that it reaches: bodies, responses, tunnels.

Nothing here holds more than a few chunks, except `hold_body`, which takes what it keeps from the session's memory.
A `Deadline` is renewed by every byte in either direction, so a long download is not idle because the client is silent.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

from operable.proc.sandbox.egress import client_hello
from operable.proc.sandbox.egress.budget import Exhausted, Memory
from operable.proc.sandbox.egress.http import (
    LAST_CHUNK,
    Framing,
    MalformedHttp,
    ResponseHead,
    encode_chunk,
    parse_chunk_size,
    parse_response,
)
from operable.proc.sandbox.egress.placeholders import Mask

_CHUNK = 64 * 1024
_LINGER = 2.0
_TRAILERS = 64  # lines; RFC 9112 sets no limit
_CHUNK_LINE = 10  # eight digits and CRLF

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Refused(Exception):  # noqa: N818 - a decision, not an error
    """The client gets this answer instead of a connection."""

    def __init__(self, reason: str, status: str = "403 Forbidden") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


class Deadline:
    """The end of a conversation in which nothing moves; also counts what moved."""

    def __init__(self, idle: float, count: Callable[[int], None]) -> None:
        self._idle = idle
        self._count = count
        self._timeout = asyncio.timeout(idle)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, error, trace)

    def moved(self, size: int) -> None:
        self._count(size)
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._idle)


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refused: Refused) -> None:
    """Answer in a form that people and programs can read, and give the client the time to read it."""
    body = json.dumps({"error": {"code": "EGRESS_DENIED", "reason": refused.reason}}).encode() + b"\n"
    head = (
        f"HTTP/1.1 {refused.status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-Operable-Egress: {refused.reason}\r\nConnection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout(_LINGER):
            writer.write(head.encode("ascii") + body)
            await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
            # Closing while the client still sends would reset the connection, and take the answer with it.
            while await reader.read(_CHUNK):
                continue
    except (OSError, TimeoutError):
        return  # it did not wait for the answer, or does not stop


async def iterate_body(reader: asyncio.StreamReader, framing: Framing) -> AsyncIterator[bytes]:
    """The bytes of a body, without its chunks; raises Malformed, or IncompleteReadError if it ends early."""
    if framing.chunked:
        async for data in _iterate_chunks(reader):
            yield data
        return
    left = framing.length
    while left is None or left > 0:
        data = await reader.read(_CHUNK if left is None else min(_CHUNK, left))
        if not data:
            if left is None:
                return
            raise asyncio.IncompleteReadError(b"", left)
        if left is not None:
            left -= len(data)
        yield data


async def _iterate_chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := parse_chunk_size((await read_line(reader, _CHUNK_LINE))[:-2]):
        async for data in iterate_body(reader, Framing(length=size)):
            yield data
        if await reader.readexactly(2) != b"\r\n":
            raise MalformedHttp("a chunk that does not end")
    for _ in range(_TRAILERS):
        if await read_line(reader) == b"\r\n":
            return  # trailers are not passed on: no rule has judged them
    raise MalformedHttp("too many trailers")


async def read_line(reader: asyncio.StreamReader, limit: int | None = None) -> bytes:
    """A line with its CRLF; raises Malformed if it is longer than the limit (the reader's, if the caller gives no other)."""
    try:
        line = await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError as error:
        raise MalformedHttp("a line that does not end") from error
    if limit is not None and len(line) > limit:
        raise MalformedHttp("a line that is too long")
    return line


async def hold_body(reader: asyncio.StreamReader, framing: Framing, limit: int, memory: Memory) -> bytes:
    """The whole body, taken from the memory of the session; the caller releases it. Raises Refused."""
    if (framing.length or 0) > limit:
        raise Refused("body-too-large", "413 Content Too Large")
    parts: list[bytes] = []
    size = 0
    try:
        async for data in iterate_body(reader, framing):
            if size + len(data) > limit:
                raise Refused("body-too-large", "413 Content Too Large")
            memory.take(len(data))
            size += len(data)
            parts.append(data)
    except BaseException as error:
        memory.release(size)
        if isinstance(error, Exhausted):
            raise Refused("memory-exhausted", "503 Service Unavailable") from error
        raise
    return b"".join(parts)


async def send_held(writer: asyncio.StreamWriter, head: bytes, body: bytes, deadline: Deadline) -> None:
    """Send in slices: a server that does not read must not make the transport copy the whole body."""
    writer.write(head)
    for at in range(0, len(body), _CHUNK):
        part = body[at : at + _CHUNK]
        deadline.moved(len(part))
        writer.write(part)
        await writer.drain()
    await writer.drain()


async def send_streamed(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, framing: Framing, deadline: Deadline
) -> None:
    """Pass the body of a request on as it comes, in the same framing."""
    async for data in iterate_body(reader, framing):
        deadline.moved(len(data))
        writer.write(encode_chunk(data) if framing.chunked else data)
        await writer.drain()
    if framing.chunked:
        writer.write(LAST_CHUNK)
        await writer.drain()


async def read_response(reader: asyncio.StreamReader, method: bytes, deadline: Deadline) -> ResponseHead:
    """The head of the next response; raises Refused if the server does not speak HTTP/1.1."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
        response = parse_response(raw, method)
    except (MalformedHttp, asyncio.LimitOverrunError) as error:
        raise Refused("malformed-response", "502 Bad Gateway") from error
    except (OSError, asyncio.IncompleteReadError) as error:
        raise Refused("no-response", "502 Bad Gateway") from error
    deadline.moved(len(raw))
    return response


async def send_response(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    head: ResponseHead,
    framing: Framing,
    mask: Mask,
    deadline: Deadline,
) -> None:
    """Pass the body of a response on, in this framing, with the values of secrets masked."""
    async for data in iterate_body(reader, head.framing):
        deadline.moved(len(data))
        await _send_part(writer, mask.feed(data) if mask else data, chunked=framing.chunked)
    await _send_part(writer, mask.end(), chunked=framing.chunked)
    if framing.chunked:
        writer.write(LAST_CHUNK)
        await writer.drain()


async def _send_part(writer: asyncio.StreamWriter, data: bytes, *, chunked: bool) -> None:
    if data:
        writer.write(encode_chunk(data) if chunked else data)
        await writer.drain()


class TunnelOpening:
    """The first words of a tunnel, held until they are judged: `compare` gets the name in each hello of TLS.

    After a hello nothing more of the client passes until the server has answered, because the answer says whether a
    second hello follows. What is not TLS passes as it is, unless `secure` says that it must be.
    """

    def __init__(
        self, client: Ends, server: Ends, compare: Callable[[str | None], None], first: bytes, *, secure: bool
    ) -> None:
        self._client, self._server = client[0], server[0]
        self._compare = compare
        self._data = first
        self._secure = secure
        self._is_tls = False
        self._again: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def client(self) -> AsyncIterator[bytes]:
        data = self._data = self._data or await self._client.read(_CHUNK)
        self._is_tls = bool(data) and (data[0] in client_hello.RECORDS or self._secure)
        if self._is_tls:
            yield await self._hello()
            if await self._again:
                while not self._data or self._data[0] != client_hello.HANDSHAKE:
                    yield await self._other_record()
                yield await self._hello()
        yield self._data

    async def server(self) -> AsyncIterator[bytes]:
        data, again = b"", None
        try:
            while again is None and (more := await self._server.read(_CHUNK)):
                data += more
                again = client_hello.asks_again(data) if self._is_tls else False
        finally:
            if not self._again.done():  # it ends with the client's side
                self._again.set_result(bool(again))
        yield data

    async def _hello(self) -> bytes:
        """The whole hello, if the name in it may pass."""
        while not (size_and_name := client_hello.parse(self._data))[0]:
            await self._more()
        size, name = size_and_name
        self._compare(name)
        return self._take(size)

    async def _other_record(self) -> bytes:
        """A record of the client that is not a part of the handshake, such as early data."""
        while not (size := client_hello.other_record(self._data)):
            await self._more()
        return self._take(size)

    async def _more(self) -> None:
        more = await self._client.read(_CHUNK)
        if not more:
            raise MalformedHttp("a client hello that ends early")
        self._data += more

    def _take(self, size: int) -> bytes:
        taken, self._data = self._data[:size], self._data[size:]
        return taken


async def join(
    client: Ends,
    server: Ends,
    deadline: Deadline,
    opening: TunnelOpening | None = None,
    mask: Mask | None = None,
) -> None:
    """Pass bytes on until both directions have ended.

    `opening` gives what the client says first, once it may pass, and sees what the server says first. `mask` is applied
    to what the server says.
    """
    there = asyncio.ensure_future(
        _copy(client[0], server[1], deadline, opening.client() if opening else None)
    )
    back = asyncio.ensure_future(
        _copy(server[0], client[1], deadline, opening.server() if opening else None, mask)
    )
    try:
        await asyncio.gather(there, back)
    finally:
        for task in (there, back):
            task.cancel()
        await asyncio.gather(there, back, return_exceptions=True)


async def _copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    deadline: Deadline,
    opening: AsyncIterator[bytes] | None = None,
    mask: Mask | None = None,
) -> None:
    async for data in _all(reader, opening):
        deadline.moved(len(data))
        writer.write(mask.feed(data) if mask else data)
        await writer.drain()
    if mask:
        writer.write(mask.end())
    if writer.can_write_eof():
        writer.write_eof()


async def _all(reader: asyncio.StreamReader, opening: AsyncIterator[bytes] | None) -> AsyncIterator[bytes]:
    if opening is not None:
        async for data in opening:
            yield data
    while data := await reader.read(_CHUNK):
        yield data
