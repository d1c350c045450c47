"""Feeds: bursts to many readers, of which some stall. Real sockets, one process."""

import asyncio
import re
import socket
from contextlib import asynccontextmanager

import pytest
import uvicorn

from operable.host.session.log import SessionLog
from operable.kernel.errors import Fail
from operable.serve.http import feed as feed_module
from operable.serve.http.connection import StreamConnection
from operable.serve.http.feed import MOST_READERS, Feeds, OwnLog
from operable.serve.http.sse import EventStream, TypedMessages, message
from operable.wire.events import TextDelta

LIMIT = 200
REQUEST = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"


class Served:
    """One log behind a server of this process. The path of a request is its cursor."""

    address: tuple[str, int]

    def __init__(self, folder):
        self.log = SessionLog(str(folder))
        self.feeds = Feeds()
        self.encoded = 0
        self.status = b""
        self.writers = []

    def encode(self, records):
        self.encoded += len(records)
        return TypedMessages().encode(records)

    async def app(self, scope, receive, send):
        feed = self.feeds.feed("log", lambda: OwnLog(self.log), self, lambda: self.status)
        await EventStream(self.feeds, "log", feed, int(scope["path"][1:]))(scope, receive, send)

    async def reader(self, after=0, *, buffer=None):
        client = socket.socket()
        if buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, self.address)
        reader, writer = await asyncio.open_connection(sock=client, limit=2**16)
        self.writers.append(writer)
        writer.write(REQUEST % after)
        await reader.readuntil(b"\r\n\r\n")
        return reader, writer

    async def until(self, what):
        async with asyncio.timeout(LIMIT):
            while not what():  # noqa: ASYNC110 - a test looks from outside
                await asyncio.sleep(0.01)


@asynccontextmanager
async def served(folder):
    those = Served(folder)
    config = uvicorn.Config(
        those.app, http=StreamConnection, log_config=None, lifespan="off", interface="asgi3"
    )
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    those.address = listener.getsockname()
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(LIMIT):
            yield those
    finally:
        those.feeds.close()
        those.log.close()
        server.should_exit = True
        for writer in those.writers:
            writer.transport.abort()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        await running


def texts(count, first=0):
    return [TextDelta("s", f"piece {number} of an answer") for number in range(first, first + count)]


async def read_ids(reader, last):
    """The ids of all messages up to this one."""
    data = bytearray()
    while b"id: %d\n" % last not in data[-10_000:]:
        chunk = await reader.read(2**16)
        assert chunk, "the stream ended"
        data += chunk
    return [int(number) for number in re.findall(rb"^id: (\d+)$", bytes(data), re.MULTILINE)]


def test_bursts_reach_every_reader_whole_and_in_order_and_are_encoded_once(tmp_path):
    async def run():
        async with served(tmp_path) as those:
            readers = [await those.reader() for _ in range(10)]
            stalled = [await those.reader(buffer=4096) for _ in range(3)]
            await those.until(lambda: those.feeds.count == 13)
            for burst in range(40):
                those.log.append(texts(500, burst * 500))
                await asyncio.sleep(0)
            found = await asyncio.gather(*(read_ids(reader, 20_000) for reader, _ in readers))
            assert found == [list(range(1, 20_001))] * 10
            live = those.encoded
            late = await asyncio.gather(*(read_ids(reader, 20_000) for reader, _ in stalled))
            assert late == [list(range(1, 20_001))] * 3
            return live

    # The ten readers share one encoding; what is more is of readers that fell behind for a moment.
    assert asyncio.run(run()) < 10 * 20_000


def test_a_reader_that_takes_nothing_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(feed_module, "STALLED", 0.05)
    monkeypatch.setattr(feed_module, "_TICK", 0.01)

    async def run():
        async with served(tmp_path) as those:
            await those.reader(buffer=4096)
            await those.until(lambda: those.feeds.count == 1)
            those.log.append(texts(200_000))
            await those.until(lambda: those.feeds.count == 0)

    asyncio.run(run())


def test_a_quiet_stream_is_kept_alive(tmp_path, monkeypatch):
    monkeypatch.setattr(feed_module, "KEEP_ALIVE", 0.02)
    monkeypatch.setattr(feed_module, "_TICK", 0.01)

    async def run():
        async with served(tmp_path) as those:
            reader, _ = await those.reader()
            return await reader.readuntil(b":\n\n")

    assert asyncio.run(run()).endswith(b":\n\n")


def test_a_reader_that_leaves_is_forgotten_with_its_feed(tmp_path):
    async def run():
        async with served(tmp_path) as those:
            _, writer = await those.reader()
            await those.until(lambda: those.feeds.count == 1)
            writer.close()
            await those.until(lambda: those.feeds.count == 0)
            assert those.feeds.names == []

    asyncio.run(run())


def test_the_end_of_the_log_ends_the_response(tmp_path):
    async def run():
        async with served(tmp_path) as those:
            reader, _ = await those.reader()
            await those.until(lambda: those.feeds.count == 1)
            those.log.append(texts(3))
            those.log.close()
            return await reader.readuntil(b"0\r\n\r\n")

    assert asyncio.run(run()).count(b"event: text-delta") == 3


def test_a_status_comes_behind_the_events_before_it(tmp_path):
    async def run():
        async with served(tmp_path) as those:
            readers = [await those.reader(), await those.reader(buffer=4096)]
            await those.until(lambda: those.feeds.count == 2)
            those.log.append(texts(20_000))
            await asyncio.sleep(0)
            those.status = message("status", {"status": "exited"})
            those.feeds.renew("log")
            for reader, _ in readers:
                data = bytearray()
                while b"event: status" not in data[-20_000:]:
                    data += await reader.read(2**16)
                assert data.index(b"event: status") > data.index(b"id: 20000\n")

    asyncio.run(run())


def test_a_reader_gets_the_status_first_and_the_last_one_at_the_end(tmp_path):
    async def run():
        async with served(tmp_path) as those:
            those.status = message("status", {"status": "running"})
            those.log.append(texts(3))
            reader, _ = await those.reader()
            await those.until(lambda: those.feeds.count == 1)
            those.feeds.renew("log")  # nothing has changed
            those.status = message("status", {"status": "exited"})
            those.log.close()
            return await reader.readuntil(b"0\r\n\r\n")

    data = asyncio.run(run())
    assert re.findall(rb"^(?:event: status\ndata: (.*)|event: (text-delta))$", data, re.MULTILINE) == [
        (b'{"status":"running"}', b""),
        *[(b"", b"text-delta")] * 3,
        (b'{"status":"exited"}', b""),
    ]


def test_more_readers_than_allowed_are_refused():
    class Crowded(Feeds):
        count = MOST_READERS

    with pytest.raises(Fail) as caught:
        Crowded().feed("log", lambda: None, TypedMessages())  # type: ignore[arg-type,return-value]
    assert caught.value.code == "TOO_MANY_READERS"
