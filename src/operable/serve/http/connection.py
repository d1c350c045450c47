"""HTTP connections of a server: how many there are, how long one may wait, and a way to write to it that costs one call.

Connections on which no request comes are closed: a client without a token could use up all connections. The server library
waits for the rest of a request forever. Here a connection that has none in flight has a time to begin the next one, however
slowly bytes come; answers, and streams of events, may last as long as they do.

A server has at most half of the descriptors of its process as connections (`BoundedListener`): the others are for what it
does. One more connection takes the place of the oldest that has no request in flight, so that a client that opens
thousands shuts no other out. It is counted when it is accepted: a TLS handshake may never end.

A stream of events is written past the library: the response is begun in the usual way, with chunked
coding, and its chunks are the same bytes for every reader (`frame`). So a batch of events is encoded once, and costs each
reader one write. What the client does not read stays in the buffers of the socket; `on_resume` says when there is room.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Self

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from operable.kernel.errors import Fail

IDLE_TIMEOUT = 30.0  # seconds
MOST_CONNECTIONS = 1000
BACKLOG = 64  # connections that are accepted at a time, before the server looks at the first of them
HEADER_LIMIT = 32 * 1024
KEY = "operable.connection"  # in the scope of each request


def frame(data: bytes) -> bytes:
    """One chunk of a response with chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class BoundedListener(socket.socket):
    """A listening socket whose accepted connections are never more than `limit`."""

    connections: Collection[object] = ()  # the protocols of the server

    def __init__(self, family: int) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.limit = MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft // 2)
        self._accepted: list[socket.socket] = []  # by age

    @classmethod
    def open(cls, host: str, port: int) -> Self:
        """One that listens there. Raises Fail io/ADDRESS_UNUSABLE."""
        listener = cls(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            place = f"{host}:{port}"
            message = f"cannot listen on {place}: {error.strerror}"
            raise Fail("io", "ADDRESS_UNUSABLE", message, target=place) from error
        return listener

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises BlockingIOError if no client waits."""
        while True:
            accepted, address = super().accept()
            if len(self._accepted) >= self.limit:
                self._accepted = [each for each in self._accepted if each.fileno() != -1]
            if len(self._accepted) < self.limit or self._close_oldest():
                self._accepted.append(accepted)
                return accepted, address
            accepted.close()

    def _close_oldest(self) -> bool:
        """End the oldest connection without a request in flight; False: all of them have one."""
        made: dict[int, Any] = {
            each.descriptor: each for each in self.connections if hasattr(each, "descriptor")
        }
        for place, each in enumerate(self._accepted):
            protocol = made.get(each.fileno())
            if protocol is None or protocol.is_idle:
                del self._accepted[place]
                with suppress(OSError):  # the client was faster
                    each.shutdown(socket.SHUT_RDWR)  # its transport sees the end, and closes it
                return True
        return False


class IdleTimeoutProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection on which no request comes in time."""

    descriptor = -1
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.descriptor = transport.get_extra_info("socket").fileno()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Another protocol has the connection from here on, with limits of its own."""
        if self._watch is not None:
            self._watch.cancel()
        super().handle_websocket_upgrade(event)

    def _wait(self) -> None:
        self._watch = self.loop.call_later(IDLE_TIMEOUT, self._look, self.is_idle, self.cycle)

    def _look(self, was_idle: bool, before: object) -> None:
        if was_idle and self.is_idle and self.cycle is before:
            self.transport.close()
        else:
            self._wait()

    @property
    def is_idle(self) -> bool:
        """Whether no request is in flight."""
        last: RequestResponseCycle | None = self.cycle  # None before the first
        return last is None or last.response_complete


class StreamConnection(IdleTimeoutProtocol):
    """A connection that requests find in their scope, and that streams of events are written to."""

    on_lost: Callable[[], object] | None = None
    on_resume: Callable[[], object] | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        app: Any = self.app

        async def connected(scope: Any, receive: Any, send: Any) -> None:
            scope[KEY] = self
            await app(scope, receive, send)

        self.app = connected

    @property
    def is_full(self) -> bool:
        """Whether the client has to read before more is written."""
        return self.flow.write_paused

    @property
    def is_closed(self) -> bool:
        return self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Write bytes of a response that has begun."""
        self.transport.write(data)

    def abort(self) -> None:
        """Drop the connection with what was not read: closing would wait for the client."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.on_resume is not None:
            self.on_resume()
