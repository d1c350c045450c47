"""The smallest HTTP/1.1 server that real vendors' clients accept: one request per connection, answers plain or chunked.

It exists so that tests control what a library would hide: a body that stops in the middle, a connection that is cut, a
client that went away. `Reply.gone` is set the moment the client closes its side, which is how a cancelled request shows.
Keep-alive, pipelining, TLS and HTTP/2 are not offered: every answer says `Connection: close`.
"""

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 64 * 1024 * 1024
_WORDS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class BadRequest(ValueError):  # noqa: N818 - says what the peer did
    """The peer's fault: not a request that this server reads."""


class EdgeRequest(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """names in lower case"""
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


class Reply:
    """What goes back; nothing is sent before `start` or `whole`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.gone = asyncio.Event()
        self._watch = asyncio.create_task(self._watch_for_end(reader))

    async def _watch_for_end(self, reader: asyncio.StreamReader) -> None:
        try:
            while await reader.read(65536):
                pass
        except OSError:
            pass  # a reset says the same as an end: the client has gone
        self.gone.set()

    async def whole(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        """An answer in one piece; what is not bytes becomes JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json", **(headers or {}), "content-length": str(len(data))}
        await self._send(_head(status, given) + data)

    async def start(self, content_type: str, headers: dict[str, str] | None = None) -> None:
        given = {"content-type": content_type, **(headers or {}), "transfer-encoding": "chunked"}
        await self._send(_head(200, given))

    async def piece(self, data: bytes) -> None:
        if data:
            await self._send(b"%x\r\n%s\r\n" % (len(data), data))

    async def finish(self) -> None:
        await self._send(b"0\r\n\r\n")

    def cut(self) -> None:
        """End the connection where it is, in the middle of the body."""
        self._writer.transport.abort()

    async def _send(self, data: bytes) -> None:
        if self.gone.is_set():
            raise ConnectionResetError("the client has gone")
        self._writer.write(data)
        await self._writer.drain()

    async def aclose(self) -> None:
        self._watch.cancel()
        self._writer.close()
        await asyncio.gather(self._watch, return_exceptions=True)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_WORDS.get(status, 'Status')}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


Answerer = Callable[[EdgeRequest, Reply], Awaitable[None]]


async def serve(answer: Answerer, host: str, port: int) -> asyncio.Server:
    """Listen, and answer each request with the coroutine given."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _converse(answer, reader, writer)
        except asyncio.CancelledError:
            # The server is closing. Python 3.11 reports a connection that ends as cancelled as an error.
            writer.close()

    return await asyncio.start_server(connected, host, port, limit=HEAD_LIMIT)


async def _converse(answer: Answerer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        request = await read_request(reader, writer)
    except (
        ValueError,
        EOFError,
        zlib.error,
        asyncio.IncompleteReadError,
        asyncio.LimitOverrunError,
        OSError,
    ):
        writer.close()
        return
    reply = Reply(reader, writer)
    try:
        await answer(request, reply)
    except (ConnectionError, TimeoutError):
        pass  # the client went away: `Reply.gone` says so
    finally:
        await reply.aclose()


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> EdgeRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    try:
        method, target, _ = head[0].split(" ")
    except ValueError:
        raise BadRequest(f"not a request line: {head[0]!r}") from None
    headers = {}
    for line in head[1:-2]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await _read_body(reader, headers)
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    parts = urlsplit(target)
    return EdgeRequest(method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        pieces = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            pieces.append(await reader.readexactly(size))
            await reader.readexactly(2)
            if sum(map(len, pieces)) > BODY_LIMIT:
                raise BadRequest("the body is too long")
        await reader.readuntil(b"\r\n")
        return b"".join(pieces)
    length = int(headers.get("content-length", "0"))
    if length > BODY_LIMIT:
        raise BadRequest("the body is too long")
    return await reader.readexactly(length)
