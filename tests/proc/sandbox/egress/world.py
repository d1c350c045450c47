"""A proxy on its socket with a real server behind it, for the tests of the egress room."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import h11

from operable.proc.sandbox.egress.budget import Attempt
from operable.proc.sandbox.egress.placeholders import Substitute
from operable.proc.sandbox.egress.proxy import Proxy
from operable.proc.sandbox.egress.tls import Authority

LIMIT = 200.0
SECRET = "sk-live-0123456789"


class World:
    """A proxy on its socket, a service behind it that echoes what it got, and a note of every attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "egress")
        self.attempts: list[Attempt] = []
        self.got: list[bytes] = []
        self.port = 0
        self.response = b""
        self.service: asyncio.Server | None = None
        self.noted = asyncio.Event()

    async def serve(self, secure: ssl.SSLContext | None = None) -> None:
        self.service = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=secure)
        self.port = self.service.sockets[0].getsockname()[1]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            body = await reader.readexactly(length)
            if b"transfer-encoding: chunked" in lines:
                body = await reader.readuntil(b"0\r\n\r\n")
            self.got.append(head + body)
            writer.write(self.response or b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return  # the proxy has gone away, as some of the tests want it to
        finally:
            writer.close()

    async def open(self, *allowed: str, **options) -> Proxy:
        entries = tuple(entry.replace("PORT", str(self.port)) for entry in allowed)
        proxy = Proxy(entries, on_attempt=self._note, **options)
        await proxy.start(self.path)
        return proxy

    def _note(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        self.noted.set()

    async def say(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(request.replace(b"PORT", str(self.port).encode()))
        answer = await reader.read()
        writer.close()
        return answer

    def reasons(self) -> list[str]:
        return [attempt.reason for attempt in self.attempts]


def play(tmp_path: Path, scene: Callable[[World], Awaitable[None]]) -> World:
    world = World(tmp_path)

    async def whole() -> None:
        try:
            async with asyncio.timeout(LIMIT):
                await scene(world)
        finally:
            if world.service is not None:
                world.service.close()
            for _ in range(10):
                await asyncio.sleep(
                    0
                )  # closed transports let go of their sockets in the next rounds of the loop

    asyncio.run(whole())
    return world


def key_for(world: World, *hosts: str, reveal: Callable[[], str] = lambda: SECRET) -> tuple[Substitute, ...]:
    return (Substitute("KEY", tuple(host.replace("PORT", str(world.port)) for host in hosts), reveal),)


async def secure_world(world: World) -> tuple[Authority, ssl.SSLContext, ssl.SSLContext]:
    """A TLS service of somebody else; (the session's authority, what the proxy trusts, what the client trusts)."""
    others, ours = Authority(str(world.folder)), Authority(str(world.folder))
    await world.serve(others.context("localhost"))
    proxy_trusts = ssl.create_default_context(cadata=others.bundle().decode())
    client_trusts = ssl.create_default_context(cadata=ours.bundle().decode())
    return ours, proxy_trusts, client_trusts


async def fetch(world: World, trust: ssl.SSLContext, headers: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(world.path)
    writer.write(b"CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % (world.port, world.port))
    await reader.readuntil(b"\r\n\r\n")
    await writer.start_tls(trust, server_hostname="localhost")
    writer.write(b"GET /x HTTP/1.1\r\n" + headers + b"\r\n")
    answer = await reader.read()
    writer.close()
    return answer


class Recorder:
    """A server that reads with h11, answers the first request of a connection, and keeps everything that follows."""

    def __init__(self) -> None:
        self.requests: list[tuple[h11.Request, bytes]] = []
        self.errors: list[str] = []
        self.excess: list[bytes] = []
        self.raw: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        at = len(self.raw)
        self.raw.append(b"")
        try:
            request, body = None, b""
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    data = await reader.read(65536)
                    self.raw[at] += data
                    connection.receive_data(data)
                    if not data and request is None:
                        return
                elif isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage) and request is not None:
                    break
                else:
                    return
            self.requests.append((request, body))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            self.excess.append(connection.trailing_data[0] + await reader.read())
        except h11.RemoteProtocolError as error:
            if b"\r\n\r\n" not in self.raw[at] or "without sending complete" not in str(error):
                self.errors.append(str(error))
        except OSError:
            return
        finally:
            writer.close()
