"""ACP over a WebSocket of the daemon: one message of JSON-RPC in each text frame, checked as lines of stdin are.

The caller is `acp:TOKEN`, by the name of the token. An editor whose token has no scope `approve` is not asked: its questions
wait in the inbox. One without `admin` brings no MCP servers: a server is a command that runs with the rights of the daemon.
One without `read` sees only the sessions that it begins.

Theory of operation. The server library reads the next message when the one before was taken, and `send` waits while the
buffers of the socket are full: an editor that does not read slows its own agents down, and nothing else. One that is gone
without a word answers no ping, and its socket is dropped. The sessions of a socket end with it, as those over stdio end
with the process; the editor loads them again over the next one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from operable.agent.acp.transport import checked_message, converse, is_foreign, without_parameters
from operable.kernel.errors import Fail
from operable.kernel.json import json_line
from operable.serve.acp.server import EditorMethods
from operable.serve.http.access.tokens import HttpIdentity
from operable.serve.session.spawn import find_adapter
from operable.wire.jsonrpc import error_response

_INVALID_REQUEST = {"code": -32600, "message": "A message is one text frame"}


def check_agent(agent: str) -> None:
    """Raises Fail not_found/UNKNOWN_AGENT, or why its manifest cannot be used."""
    try:
        find_adapter(agent, os.getcwd())
    except Fail as problem:
        if problem.code != "UNKNOWN_AGENT":
            raise
        raise Fail(
            "not_found", "UNKNOWN_AGENT", problem.message, target=agent, hint=problem.hint
        ) from problem


async def serve_socket(
    agent: str,
    identity: HttpIdentity,
    receive: Callable[[], Awaitable[Any]],
    send: Callable[[Any], Awaitable[None]],
    over: asyncio.Event,
) -> None:
    """Until the editor goes, the daemon ends, or `over` is set."""
    await receive()  # that it asks for a socket
    await send({"type": "websocket.accept"})
    methods = EditorMethods(
        agent,
        identity.name,
        may_answer=identity.allows("approve"),
        may_bring_servers=identity.allows("admin"),
        may_read=identity.allows("read"),
    )
    await converse(methods, SocketTransport(receive, send, over))


class SocketTransport:
    """See `acp` on transports: `receive` gives None at the end."""

    def __init__(
        self,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
        over: asyncio.Event,
    ) -> None:
        self._receive, self._send, self._over = receive, send, over
        self._sending = asyncio.Lock()
        self._is_open = True

    async def receive(self) -> dict[str, Any] | None:
        while self._is_open:
            event = await self._next()
            if event is None:
                break
            if event["type"] == "websocket.disconnect":
                self._is_open = False
                break
            text = event.get("text")
            message, error = (None, _INVALID_REQUEST) if text is None else checked_message(text.encode())
            if message is None:
                await self.send(error_response(None, error))
            elif not is_foreign(message):
                return message
        return None

    async def _next(self) -> Any:
        """What the server library gives next; None when the socket is to end."""
        getting, ending = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait((getting, ending), return_when=asyncio.FIRST_COMPLETED)
            return None if ending.done() else getting.result()
        finally:
            getting.cancel()
            ending.cancel()

    async def send(self, message: dict[str, Any]) -> None:
        """Returns when it is in the buffers of the socket; without an editor it is dropped."""
        text = json_line(without_parameters(message), other=str).decode()
        async with self._sending:
            if self._is_open:
                await self._pass({"type": "websocket.send", "text": text.rstrip("\n")})

    def end(self) -> None:
        """The editor is gone already, or the socket is closed next."""

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            await self._pass({"type": "websocket.close", "code": 1000})

    async def _pass(self, event: dict[str, Any]) -> None:
        try:
            await self._send(event)
        except OSError:  # how the server library says that the client is gone
            self._is_open = False
