"""The filtering proxy: the one way out of a sandbox, for HTTP and HTTPS, to the hosts on its list.

Theory of operation. An asyncio server on a unix socket, which the relay inside reaches. `CONNECT host:port` becomes a blind
tunnel, `GET http://host/…` one forwarded request; everything else is refused. Names are resolved here, once, and the
resolved address is what is checked and connected to, so a name cannot change its meaning in between. Deny is the default,
and every attempt is told to `on_attempt`, allowed or not.

Secrets. A `Substitute` says which placeholder stands for which secret at which hosts. Requests to those hosts are looked
into (TLS by the session's own authority, `tls`), and the placeholder becomes the value on its way out; in a request
to any other host that we can see into, it is blocked. In a blind tunnel a placeholder passes as what it is: worthless.
One request per connection in that mode, and what comes back is not looked at.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from operable.kernel.errors import Fail
from operable.proc.sandbox.egress import http
from operable.proc.sandbox.egress.http import Head, Malformed
from operable.proc.sandbox.egress.rules import Rules, split
from operable.proc.sandbox.egress.streams import Refused, answer, join, read_body
from operable.proc.sandbox.egress.tls import Authority

_HEAD_TIMEOUT = 30.0
_LONGEST_ADDRESS = 100  # of a unix socket: 104 on some systems, 108 on others


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to reach something; never with a path, a header or a value in it."""

    host: str
    port: int
    allowed: bool
    reason: str  # "allowed", or why not: "not-listed", "private-address", "unresolvable", "secret-not-for-host", …
    secrets: tuple[str, ...] = ()  # names of the secrets that were put in


@dataclass(frozen=True, slots=True)
class Substitute:
    """A placeholder, the hosts it is for, and how to get its value (asked at each use, in a thread; nothing is kept)."""

    name: str
    hosts: tuple[str, ...]
    reveal: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one sandbox may take of the host."""

    connections: int = 128  # at once; a browser uses six per host, a package manager about fifty
    head: int = 64 * 1024
    body: int = 32 * 1024 * 1024  # of requests that are looked into; tunnels have no such limit
    connect: float = 30.0
    idle: float = 900.0  # models think long
    total: int | None = None  # bytes in both directions, over all connections


class Proxy:
    """One list, one socket. All methods belong to one event loop."""

    def __init__(
        self,
        allowed: tuple[str, ...],
        *,
        substitutes: tuple[Substitute, ...] = (),
        authority: Authority | None = None,
        on_attempt: Callable[[Attempt], object] = lambda _: None,
        bounds: Bounds | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self.rules = Rules(allowed)
        self.bounds = bounds or Bounds()
        self._secrets = {each.name: (each, Rules(each.hosts)) for each in substitutes}
        self._authority = authority
        self._on_attempt = on_attempt
        self._trust = trust
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = 0

    async def start(self, path: str) -> None:
        if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
            self._server = await asyncio.start_unix_server(self._accept, path, limit=self.bounds.head)
        else:
            # By its folder's descriptor: temporary directories may be deep, and the addresses of sockets are short.
            folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                place = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
                self._server = await asyncio.start_unix_server(self._accept, place, limit=self.bounds.head)
            finally:
                os.close(folder)
        os.chmod(path, 0o600)

    async def aclose(self) -> None:
        """End the server and every connection."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            if len(self._tasks) > self.bounds.connections:
                raise Refused("too-many-connections", "503 Service Unavailable")
            await self._serve(reader, writer)
        except Refused as refused:
            await answer(reader, writer, refused.status, refused.reason)
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ssl.SSLError):
            pass  # the client, or the server behind it, went away: closing says so
        except asyncio.CancelledError:
            pass  # the session is over
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await self._head(reader)
        if head.method == b"CONNECT":
            host, port = _authority(head.target, None)
            self._decide(host, port)
            if self._holds_secret(host, port):
                await self._look_into(reader, writer, host, port)
            else:
                await self._tunnel(reader, writer, host, port)
        elif head.target.lower().startswith(b"http://"):
            authority, slash, path = head.target[7:].partition(b"/")
            host, port = _authority(authority, 80)
            self._decide(host, port)
            await self._forward(reader, writer, head, slash + path or b"/", (host, port), None)
        else:
            raise Refused("not-a-proxy-request", "400 Bad Request")

    async def _head(self, reader: asyncio.StreamReader) -> Head:
        try:
            raw = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_TIMEOUT)
            return http.parse(raw)
        except asyncio.LimitOverrunError as error:
            raise Refused("head-too-large", "431 Request Header Fields Too Large") from error
        except Malformed as error:
            raise Refused("malformed-request", "400 Bad Request") from error

    def _decide(self, host: str, port: int) -> None:
        if not self.rules.covers(host, port):
            self._report(host, port, "not-listed")
            raise Refused("not-listed")

    async def _connect(
        self, host: str, port: int, secure: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address of the host that may be connected to."""
        loop = asyncio.get_running_loop()
        try:
            found = await asyncio.wait_for(loop.getaddrinfo(host, port, type=1), self.bounds.connect)
        except (OSError, UnicodeError, TimeoutError) as error:
            self._report(host, port, "unresolvable")
            raise Refused("unresolvable", "502 Bad Gateway") from error
        usable = [str(item[4][0]) for item in found if self.rules.may_connect(host, str(item[4][0]), port)]
        if not usable:
            self._report(host, port, "private-address")
            raise Refused("private-address")
        for place in usable:
            try:
                return await asyncio.wait_for(
                    asyncio.open_connection(
                        place,
                        port,
                        ssl=secure,
                        server_hostname=host if secure else None,
                        limit=self.bounds.head,
                    ),
                    self.bounds.connect,
                )
            except (OSError, TimeoutError, ssl.SSLError):
                continue
        self._report(host, port, "unreachable")
        raise Refused("unreachable", "502 Bad Gateway")

    async def _tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
    ) -> None:
        there, back = await self._connect(host, port)
        self._report(host, port, "allowed")
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await join((reader, writer), (there, back), self._count, self.bounds.idle)
        finally:
            back.close()

    async def _look_into(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
    ) -> None:
        if self._authority is None:
            self._report(host, port, "interception-unavailable")
            raise Refused("interception-unavailable", "502 Bad Gateway")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        try:
            await writer.start_tls(self._authority.context(host), ssl_handshake_timeout=_HEAD_TIMEOUT)
        except (OSError, ssl.SSLError):
            # Never a blind tunnel instead: the client was promised that its placeholder becomes a secret.
            self._report(host, port, "client-refused-interception")
            return
        head = await self._head(reader)
        claimed = _authority(head.get(b"host") or b"", port)
        if claimed != (host, port) or not head.target.startswith(b"/"):
            self._report(host, port, "host-mismatch")
            raise Refused("host-mismatch")
        secure = self._trust or ssl.create_default_context()
        await self._forward(reader, writer, head, head.target, (host, port), secure)

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        head: Head,
        target: bytes,
        where: tuple[str, int],
        secure: ssl.SSLContext | None,
    ) -> None:
        host, port = where
        body = await read_body(head, reader, writer, self.bounds.body)
        plain = Head(head.method, target, head.headers)
        wanted = http.placeholders(plain, body)
        changed, body = await self._with_secrets(plain, body, wanted, host, port)
        there, back = await self._connect(host, port, secure)
        self._report(host, port, "allowed", tuple(sorted(wanted)))
        try:
            standard = 443 if secure else 80
            name = f"[{host}]" if ":" in host else host
            authority = name if port == standard else f"{name}:{port}"
            carries = body or head.method in (b"POST", b"PUT", b"PATCH")
            back.write(
                http.forward(changed, changed.target, authority.encode(), len(body) if carries else None)
                + body
            )
            await back.drain()
            await join(
                (reader, writer), (there, back), self._count, self.bounds.idle, one_way=not head.upgrade
            )
        finally:
            back.close()

    async def _with_secrets(
        self, head: Head, body: bytes, wanted: set[str], host: str, port: int
    ) -> tuple[Head, bytes]:
        """Put the values in; refuse when one of them is not for this host."""
        values: dict[str, str] = {}
        for name in wanted:
            substitute, rules = self._secrets.get(name, (None, None))
            if substitute is None or rules is None or not rules.covers(host, port):
                self._report(host, port, "secret-not-for-host", (name,))
                raise Refused("secret-not-for-host")
            try:
                values[name] = await asyncio.to_thread(substitute.reveal)
            except Fail as problem:
                self._report(host, port, "secret-unavailable", (name,))
                raise Refused("secret-unavailable", "502 Bad Gateway") from problem
        try:
            return http.substitute(head, body, values.__getitem__) if values else (head, body)
        except Malformed as error:
            self._report(host, port, "secret-does-not-fit", tuple(sorted(wanted)))
            raise Refused("secret-does-not-fit", "400 Bad Request") from error

    def _holds_secret(self, host: str, port: int) -> bool:
        return any(rules.covers(host, port) for _, rules in self._secrets.values())

    def _report(self, host: str, port: int, reason: str, secrets: tuple[str, ...] = ()) -> None:
        self._on_attempt(Attempt(host, port, reason == "allowed", reason, secrets))

    def _count(self, size: int) -> None:
        self._moved += size
        if self.bounds.total is not None and self._moved > self.bounds.total:
            raise ConnectionAbortedError("the sandbox has used up what it may transfer")


def _authority(text: bytes, standard: int | None) -> tuple[str, int]:
    """(host, port) of an authority; user names before it are refused."""
    try:
        host, port = split(text.decode("ascii"))
    except UnicodeDecodeError as error:
        raise Refused("malformed-request", "400 Bad Request") from error
    number = standard if port is None else int(port) if port.isdecimal() and len(port) < 6 else None
    if not host or b"@" in text or number is None:
        raise Refused("malformed-request", "400 Bad Request")
    return host, number
