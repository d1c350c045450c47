"""Bytes between a client of the egress proxy and the server that it reaches: bodies, answers, tunnels."""

import asyncio
import json
from collections.abc import Callable

from operable.proc.sandbox.egress.http import Head, Malformed

_CHUNK = 64 * 1024
_LINGER = 2.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Refused(Exception):  # noqa: N818 - a decision, not an error
    """The client gets this answer instead of a connection."""

    def __init__(self, reason: str, status: str = "403 Forbidden") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: str, reason: str
) -> None:
    """Say no in a form that people and programs can read, and give the client the time to read it."""
    body = json.dumps({"error": {"code": "EGRESS_DENIED", "reason": reason}}).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-Operable-Egress: {reason}\r\nConnection: close\r\n\r\n"
    )
    try:
        writer.write(head.encode("ascii") + body)
        await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        # Closing while the client still sends would reset the connection, and take the answer with it.
        async with asyncio.timeout(_LINGER):
            await _drop(reader)
    except (OSError, TimeoutError):
        return  # it did not wait for the answer, or does not stop


async def read_body(
    head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int
) -> bytes:
    """The whole body of a request, decoded from chunks; Refused beyond the limit."""
    try:
        length = head.length
        if (length or head.chunked) and (head.get(b"expect") or b"").lower() == b"100-continue":
            writer.write(_CONTINUE)
        if not head.chunked:
            if length > limit:
                raise Refused("body-too-large", "413 Content Too Large")
            return await reader.readexactly(length)
        body = bytearray()
        while size := await _chunk_size(reader):
            if len(body) + size > limit:
                raise Refused("body-too-large", "413 Content Too Large")
            body += await reader.readexactly(size)
            if await reader.readexactly(2) != b"\r\n":
                raise Malformed("a chunk that does not end")
        while await reader.readuntil(b"\r\n") != b"\r\n":
            continue  # trailers: nobody needs them
        return bytes(body)
    except Malformed as error:
        raise Refused("malformed-request", "400 Bad Request") from error


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    line = (await reader.readuntil(b"\r\n")).split(b";")[0].strip()
    try:
        return int(line, 16) if 0 < len(line) < 9 and line.isalnum() else _no_size()
    except ValueError as error:
        raise Malformed("not the size of a chunk") from error


def _no_size() -> int:
    raise Malformed("not the size of a chunk")


async def join(
    client: Ends, server: Ends, count: Callable[[int], None], idle: float, *, one_way: bool = False
) -> None:
    """Pass bytes on until both directions have ended; with `one_way`, until the server has."""
    back = asyncio.ensure_future(_copy(server[0], client[1], count, idle))
    there = asyncio.ensure_future(_drop(client[0]) if one_way else _copy(client[0], server[1], count, idle))
    try:
        if one_way:
            # A client that goes away takes its request with it; one that says no more waits for its answer.
            await back
        else:
            await asyncio.gather(there, back)
    finally:
        for task in (there, back):
            task.cancel()
        await asyncio.gather(there, back, return_exceptions=True)


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None], idle: float
) -> None:
    while data := await asyncio.wait_for(reader.read(_CHUNK), idle):
        count(len(data))
        writer.write(data)
        await asyncio.wait_for(writer.drain(), idle)
    if writer.can_write_eof():
        writer.write_eof()


async def _drop(reader: asyncio.StreamReader) -> None:
    while await reader.read(_CHUNK):
        continue
