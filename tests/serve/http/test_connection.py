"""Connections on which no request comes, and bodies that come slowly."""

import asyncio
import socket

import pytest
import uvicorn

from operable.serve.http import connection

BEGIN = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answering(scope, receive, send):
    """Answers at once, or on /slow after several times the patience."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    if scope["path"] == "/slow":
        await send({"type": "http.response.body", "body": b"o", "more_body": True})
        await asyncio.sleep(connection.IDLE_TIMEOUT * 4)
        await send({"type": "http.response.body", "body": b"k"})
    else:
        await send({"type": "http.response.body", "body": b"ok"})


def talked(monkeypatch, client):
    """What the client makes of a server whose patience is short."""
    monkeypatch.setattr(connection, "IDLE_TIMEOUT", 0.2)

    async def both():
        config = uvicorn.Config(
            answering,
            http=connection.IdleTimeoutProtocol,
            log_config=None,
            lifespan="off",
            timeout_keep_alive=100,
        )
        server = uvicorn.Server(config)
        listener = socket.create_server(("127.0.0.1", 0))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            async with asyncio.timeout(200):
                return await client(reader, writer)
        finally:
            writer.close()
            server.should_exit = True
            await running

    return asyncio.run(both())


@pytest.mark.parametrize("sent", [b"", BEGIN, BEGIN + b"\r\n", BEGIN + b"\r\n" + BEGIN])
def test_a_connection_without_a_request_is_closed(monkeypatch, sent):
    async def client(reader, writer):
        writer.write(sent)
        return await reader.read()

    heard = talked(monkeypatch, client)
    assert heard.endswith(b"ok") is sent.startswith(BEGIN + b"\r\n")


def test_bytes_that_trickle_are_no_request(monkeypatch):
    async def client(reader, writer):
        ended = asyncio.create_task(reader.read())
        while not ended.done():
            writer.write(b"x")
            await asyncio.wait([ended], timeout=0.05)
        try:
            return await ended
        except ConnectionResetError:
            return b""  # a byte was on its way when the server closed

    assert talked(monkeypatch, client) == b""


def test_an_answer_may_last(monkeypatch):
    async def client(reader, writer):
        writer.write(BEGIN.replace(b"/ ", b"/slow ") + b"\r\n")
        return await reader.readuntil(b"ok")

    assert talked(monkeypatch, client).startswith(b"HTTP/1.1 200")
