"""Connections on which no request comes, and bodies that come slowly."""

import asyncio
import gc
import resource
import ssl
import weakref

import pytest
import uvicorn

from operable.serve.http import connection
from tests.serve.http.test_app import make_certificate

BEGIN = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answering(scope, receive, send):
    """Answers at once, on /slow after several times the patience, on /held until the client goes."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    if scope["path"] == "/held":
        await send({"type": "http.response.body", "body": b"o", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    elif scope["path"] == "/slow":
        await send({"type": "http.response.body", "body": b"o", "more_body": True})
        await asyncio.sleep(connection.IDLE_TIMEOUT * 4)
        await send({"type": "http.response.body", "body": b"k"})
    else:
        await send({"type": "http.response.body", "body": b"ok"})


def served(client, **options):
    """What the client makes of a server: it gets the listener."""

    async def both():
        config = uvicorn.Config(
            answering,
            http=connection.IdleTimeoutProtocol,
            log_config=None,
            lifespan="off",
            timeout_keep_alive=100,
            backlog=connection.BACKLOG,
            **options,
        )
        server = uvicorn.Server(config)
        listener = connection.BoundedListener.open("127.0.0.1", 0)
        listener.connections = server.server_state.connections
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(200):
                return await client(listener)
        finally:
            server.should_exit = True
            await running

    return asyncio.run(both())


def talked(monkeypatch, client):
    """What the client makes of a server whose patience is short."""
    monkeypatch.setattr(connection, "IDLE_TIMEOUT", 0.2)

    async def connected(listener):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            return await client(reader, writer)
        finally:
            writer.close()

    return served(connected)


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


async def ask(reader, writer, path=b"/"):
    writer.write(BEGIN.replace(b"/ ", path + b" ", 1) + b"\r\n")
    return await reader.readuntil(b"\r\n\r\n")


def test_clients_without_a_request_shut_no_other_out():
    """Each of them is let go when the next one comes, the oldest first; one that is answered stays."""

    async def client(listener):
        listener.limit = 8
        answered = await asyncio.open_connection(*listener.getsockname())
        head = await ask(*answered, b"/held")
        squatters = [await asyncio.open_connection(*listener.getsockname()) for _ in range(40)]
        late = await asyncio.open_connection(*listener.getsockname())
        reply = await ask(*late)
        ended = await asyncio.gather(*(reader.read() for reader, _ in squatters[:33]))
        kept = [reader for reader, _ in squatters if not reader.at_eof()]
        still = await answered[0].read(1)
        for _, writer in [answered, late, *squatters]:
            writer.close()
        return head, reply, ended, len(kept), still

    head, reply, ended, kept, still = served(client)

    assert head.startswith(b"HTTP/1.1 200")
    assert reply.startswith(b"HTTP/1.1 200")
    assert ended == [b""] * 33
    assert kept <= 8
    assert still == b"o"


def test_where_each_connection_is_answered_one_more_is_refused():
    async def client(listener):
        listener.limit = 3
        busy = [await asyncio.open_connection(*listener.getsockname()) for _ in range(3)]
        for each in busy:
            await ask(*each, b"/held")
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            refused = await reader.read()
        except ConnectionResetError:
            refused = b""
        for _, used in [*busy, (reader, writer)]:
            used.close()
        return refused

    assert served(client) == b""


def test_handshakes_that_never_end_take_no_place_from_a_client(tmp_path):
    """With TLS the server library knows of a connection only after its handshake."""
    certificate, key = make_certificate(tmp_path, "localhost")

    async def client(listener):
        listener.limit = 4
        squatters = [await asyncio.open_connection(*listener.getsockname()) for _ in range(30)]
        trusting = ssl.create_default_context(cafile=certificate)
        late = await asyncio.open_connection(
            *listener.getsockname(), ssl=trusting, server_hostname="localhost"
        )
        reply = await ask(*late)
        for _, writer in [late, *squatters]:
            writer.close()
        return reply

    reply = served(client, ssl_certfile=certificate, ssl_keyfile=key)
    assert reply.startswith(b"HTTP/1.1 200")


def test_half_of_the_descriptors_are_for_the_server_itself():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fewer = min(soft, 500) if soft != resource.RLIM_INFINITY else 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (fewer, hard))
    try:
        with connection.BoundedListener.open("127.0.0.1", 0) as listener:
            assert listener.limit == fewer // 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_nothing_is_kept_of_a_connection_that_is_gone():
    """Also no timer: thousands of connections a second would each be kept for half a minute."""

    async def client(listener):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        await ask(reader, writer)
        (kept,) = (weakref.ref(each) for each in listener.connections)
        writer.close()
        for _ in range(10_000):
            if not listener.connections:
                break
            await asyncio.sleep(0)
        for _ in range(10):  # closed transports let go of their protocol in the next rounds of the loop
            await asyncio.sleep(0)
        gc.collect()
        return kept()

    assert served(client) is None
