"""One HTTP connection of the daemon: how long it may wait, and a way to write to it that costs one call.

Connections on which no request comes are closed: a client without a token could use up all connections. The server library
waits for the rest of a request forever. Here a connection that has none in flight has a time to begin the next one, however
slowly bytes come; answers, and streams of events, may last as long as they do.

A stream of events is written past the library: the response is begun in the usual way, with chunked
coding, and its chunks are the same bytes for every reader (`frame`). So a batch of events is encoded once, and costs each
reader one write. What the client does not read stays in the buffers of the socket; `on_resume` says when there is room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

IDLE_TIMEOUT = 30.0  # seconds
HEADER_LIMIT = 32 * 1024
KEY = "operable.connection"  # in the scope of each request


def frame(data: bytes) -> bytes:
    """One chunk of a response with chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class IdleTimeoutProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection on which no request comes in time."""

    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._watch = self.loop.call_later(IDLE_TIMEOUT, self._look, self._idle(), self.cycle)

    def _look(self, was_idle: bool, before: object) -> None:
        if was_idle and self._idle() and self.cycle is before:
            self.transport.close()
        else:
            self._wait()

    def _idle(self) -> bool:
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
