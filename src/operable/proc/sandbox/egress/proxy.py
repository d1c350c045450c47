"""The filtering proxy: the one way out of a sandbox, for HTTP and HTTPS, to the hosts on its list.

Theory of operation. An asyncio server on a unix socket, which the relay inside reaches. `CONNECT host:port` becomes a blind
tunnel, `GET http://host/…` one forwarded request; everything else is refused. Deny is the default, every attempt is reported
to `on_attempt` (`budget.AttemptLog`), and a request is refused if that fails.

What decides is what the server sees: Host must be the host of the target, the name in TLS must be the host of the CONNECT.
Where the list does not name the port, port 80 is read as HTTP also inside CONNECT, and port 443 must be TLS. Hosts for
which the session holds secrets (`substitutes`) are looked into by the session's own authority (`tls`); they never get a
blind tunnel.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from typing import TYPE_CHECKING

from operable.kernel.errors import Fail
from operable.proc.sandbox.egress.budget import Attempt, AttemptLog, Bounds, Memory
from operable.proc.sandbox.egress.client_hello import HANDSHAKE
from operable.proc.sandbox.egress.exchange import EgressExchange
from operable.proc.sandbox.egress.http import (
    MalformedHttp,
    RequestHead,
    parse_authority,
    parse_request,
    split_absolute,
)
from operable.proc.sandbox.egress.placeholders import Substitute, Substitutes
from operable.proc.sandbox.egress.rules import Rules, normal
from operable.proc.sandbox.egress.streams import Deadline, Ends, Refused, TunnelOpening, join, refuse
from operable.proc.sandbox.egress.upstream import EgressUpstream

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from operable.proc.sandbox.egress.tls import Authority

_LONGEST_ADDRESS = 100  # of a unix socket: 104 on some systems, 108 on others
# Connections beyond the bound that get an answer; more than that are dropped: each holds a descriptor of the host.
_TOLD = 16
_HTTP_PORT, _TLS_PORT = 80, 443
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
# Binding a unix socket, or closing connections: milliseconds.
_TIMEOUT = 10.0


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
        self.memory = Memory(self.bounds.memory)
        self._substitutes = Substitutes(substitutes)
        self._authority = authority
        self._log = AttemptLog(on_attempt, self.bounds)
        self._upstream = EgressUpstream(self.rules, self._log, self.bounds, trust)
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
        """End the server and every connection, and report the attempts that are not reported yet."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._upstream.close()
        self._log.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        over = len(self._tasks) - self.bounds.connections
        if over > _TOLD:
            writer.transport.abort()
            return
        try:
            refused = await self._answer(reader, writer, over=over > 0)
            if refused is not None:
                await refuse(reader, writer, refused)
        except asyncio.CancelledError:
            pass  # the session is over
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, over: bool
    ) -> Refused | None:
        """Serve one connection; the refusal that the client is still to get, if any."""
        if over:
            return Refused("too-many-connections", "503 Service Unavailable")
        try:
            await self._serve(reader, writer)
        except Refused as refused:
            return refused
        except MalformedHttp:
            return Refused("malformed-request", "400 Bad Request")
        except (OSError, EOFError):
            return None  # the client, or the server behind it, went away, or nothing moved: closing says so
        except Exception:  # noqa: BLE001 - e.g. the audit cannot be written: no record, no request
            return Refused("internal-error", "500 Internal Server Error")
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await self._read_head(reader)
        if head.method == b"CONNECT":
            where = parse_authority(head.target, None)
            self._compare(head, where)
            self._decide(where)
            if self._substitutes.cover(*where):
                await self._look_into_tls((reader, writer), where)
            elif where[1] == _HTTP_PORT and not self.rules.names_port(*where):
                await self._look_into_http((reader, writer), where)
            else:
                await self._tunnel((reader, writer), where)
            return
        absolute = split_absolute(head.target)
        if absolute is None:
            raise Refused("not-a-proxy-request", "400 Bad Request")
        authority, path = absolute
        where = parse_authority(authority, _HTTP_PORT)
        self._compare(head, where)
        self._decide(where)
        await self._forward((reader, writer), head.at(path), where, secure=False)

    async def _read_head(self, reader: asyncio.StreamReader, first: bytes = b"") -> RequestHead:
        try:
            async with asyncio.timeout(self.bounds.handshake):
                raw = first + await reader.readuntil(b"\r\n\r\n")
            self._count(len(raw))
            return parse_request(raw)
        except asyncio.LimitOverrunError as error:
            raise Refused("head-too-large", "431 Request Header Fields Too Large") from error
        except TimeoutError as error:
            raise Refused("head-too-slow", "408 Request Timeout") from error

    def _compare(self, head: RequestHead, where: tuple[str, int]) -> None:
        """The Host of the request must be the host that is judged; a server may believe either."""
        given = head.get(b"host")
        if given is not None and parse_authority(given, where[1]) != where:
            self._log.report(*where, "host-mismatch")
            raise Refused("host-mismatch")

    def _decide(self, where: tuple[str, int]) -> None:
        if not self.rules.covers(*where):
            self._log.report(*where, "not-listed")
            raise Refused("not-listed")

    async def _tunnel(self, client: Ends, where: tuple[str, int], first: bytes = b"") -> None:
        server = await self._upstream.connect(*where)
        try:
            self._log.report(*where, "allowed")
            if not first:
                client[1].write(_ESTABLISHED)
                await client[1].drain()
            async with Deadline(self.bounds.idle, self._count) as deadline:
                secure = where[1] == _TLS_PORT and not self.rules.names_port(*where)
                opening = TunnelOpening(
                    client, server, lambda name: self._compare_name(name, where), first, secure=secure
                )
                await join(client, server, deadline, opening)
        except MalformedHttp as error:
            self._log.report(*where, "malformed-tls")
            raise ConnectionAbortedError from error  # inside a tunnel an answer would be read as the server's
        finally:
            server[1].close()

    def _compare_name(self, name: str | None, where: tuple[str, int]) -> None:
        """The name in TLS, if there is one, must be the host that was decided on."""
        if name is not None and normal(name) != where[0]:
            self._log.report(*where, "sni-mismatch")
            raise ConnectionAbortedError("the name in TLS differs from the name in CONNECT")

    async def _look_into_http(self, client: Ends, where: tuple[str, int]) -> None:
        """Port 80 inside CONNECT, as Node's clients use it: one request like any other, unless it is TLS."""
        client[1].write(_ESTABLISHED)
        await client[1].drain()
        async with asyncio.timeout(self.bounds.handshake):
            first = await client[0].readexactly(1)
        if first[0] == HANDSHAKE:
            try:
                await self._tunnel(client, where, first)
            except Refused as refused:
                raise ConnectionAbortedError from refused  # an answer in plain text is not TLS
        else:
            await self._serve_inside(client, where, await self._read_head(client[0], first), secure=False)

    async def _look_into_tls(self, client: Ends, where: tuple[str, int]) -> None:
        if self._authority is None:
            self._log.report(*where, "interception-unavailable")
            raise Refused("interception-unavailable", "502 Bad Gateway")
        context = self._authority.context(where[0])
        client[1].write(_ESTABLISHED)
        await client[1].drain()
        try:
            await client[1].start_tls(context, ssl_handshake_timeout=self.bounds.handshake)
        except OSError:
            # Never a blind tunnel instead: the client was promised that its placeholder becomes a secret.
            self._log.report(*where, "client-refused-interception")
            return
        await self._serve_inside(client, where, await self._read_head(client[0]), secure=True)

    async def _serve_inside(
        self, client: Ends, where: tuple[str, int], head: RequestHead, *, secure: bool
    ) -> None:
        self._compare(head, where)
        if head.get(b"host") is None or not head.target.startswith(b"/"):
            self._log.report(*where, "host-mismatch")
            raise Refused("host-mismatch")
        await self._forward(client, head, where, secure=secure)

    async def _forward(
        self, client: Ends, head: RequestHead, where: tuple[str, int], *, secure: bool
    ) -> None:
        async with Deadline(self.bounds.idle, self._count) as deadline:
            exchange = EgressExchange(
                upstream=self._upstream,
                substitutes=self._substitutes,
                log=self._log,
                bounds=self.bounds,
                memory=self.memory,
                deadline=deadline,
            )
            await exchange.run(client, head, where, secure=secure)

    def _count(self, size: int) -> None:
        self._moved += size
        if self.bounds.total is not None and self._moved > self.bounds.total:
            raise ConnectionAbortedError("the sandbox has used up its transfer limit")


class Service:
    """All egress proxies of a host, on one event loop in one thread: a host that computes or blocks slows no sandbox down.

    Starts and stops proxies from any thread. The loop's thread starts with the first proxy. Callbacks of a proxy
    (`on_attempt`) run in it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, proxy: Proxy, path: str) -> None:
        """Serve on this unix socket; Fail when it cannot be made."""
        try:
            self._do(proxy.start(path))
        except OSError as error:
            raise Fail(
                "io", "EGRESS_UNAVAILABLE", f"cannot serve egress at {path}: {error.strerror or error}"
            ) from error

    def stop(self, proxy: Proxy) -> None:
        self._do(proxy.aclose())

    def forget(self) -> None:
        """In a fork of the host: the thread stayed with the parent."""
        self._lock = threading.Lock()
        self._loop = None

    def _do(self, what: Coroutine[object, object, None]) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="operable-egress", daemon=True).start()
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_TIMEOUT)


SERVICE = Service()
os.register_at_fork(after_in_child=SERVICE.forget)
