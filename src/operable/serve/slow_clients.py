"""Connections on which no request comes are closed: a client without a token could use up all connections.

The server library waits for the rest of a request forever. Here a connection that has none in flight has a time to begin
the next one, however slowly bytes come; answers, and streams of events, may last as long as they do.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

IDLE_TIMEOUT = 30.0  # seconds


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
