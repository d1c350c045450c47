"""The token of the HTTP server."""

import asyncio
import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn

from operable.kernel.errors import Fail
from operable.serve import mcp_transports
from operable.serve.mcp_transports import token_of


def test_servers_that_begin_at_once_have_one_token(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(token_of, [str(tmp_path)] * 200))
    assert len(found) == 1
    assert os.listdir(tmp_path) == ["mcp-token"]


@pytest.mark.parametrize(
    "content, mode", [("", 0o600), ("short", 0o600), ("\xe9" * 40, 0o600), ("x" * 40, 0o640)]
)
def test_a_token_that_is_none_or_that_others_may_know_is_refused(tmp_path, content, mode):
    path = tmp_path / "mcp-token"
    path.write_text(content, encoding="latin-1")
    path.chmod(mode)
    with pytest.raises(Fail) as caught:
        token_of(str(tmp_path))
    assert (caught.value.code, caught.value.target) == ("TOKEN_INVALID", str(path))
    assert "x" * 40 not in caught.value.message


def test_a_folder_in_place_of_the_token_is_refused(tmp_path):
    (tmp_path / "mcp-token").mkdir()
    with pytest.raises(Fail, match="cannot be used"):
        token_of(str(tmp_path))


BEGIN = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answering(scope, receive, send):
    """Answers at once, or on /slow after several times the patience."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    if scope["path"] == "/slow":
        await send({"type": "http.response.body", "body": b"o", "more_body": True})
        await asyncio.sleep(mcp_transports.IDLE_TIMEOUT * 4)
        await send({"type": "http.response.body", "body": b"k"})
    else:
        await send({"type": "http.response.body", "body": b"ok"})


def talked(monkeypatch, client):
    """What the client makes of a server whose patience is short."""
    monkeypatch.setattr(mcp_transports, "IDLE_TIMEOUT", 0.2)

    async def both():
        config = uvicorn.Config(
            answering,
            http=mcp_transports.IdleTimeoutProtocol,
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
