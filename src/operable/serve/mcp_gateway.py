"""`/mcp` of the daemon: the catalog and the sessions as one MCP server, for every client that has a token.

Theory of operation. The route has checked the token, the host and the limits; here each client gets its own tools. A token
that may only read is offered what changes nothing. A session of an agent is itself: it reaches the sessions that it
started. A client's person is asked at the client only if the token may approve; for every other token the question waits
for a person elsewhere, so that no client says yes for one. A session of the protocol belongs to the token that opened it.

The SDK is loaded with the first request. Its tasks live in one task of ours, from then to the end of the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from operable.gate.call import CallerId
from operable.gate.call_gate import CallGate
from operable.kernel.errors import Fail
from operable.serve.catalog import Operable, recent_catalog
from operable.serve.http.access.tokens import SESSION, HttpIdentity
from operable.serve.http.sse import StreamPlace
from operable.serve.mcp_tools import Results, Toolbox
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.tools import ToolCaller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from operable.serve.mcp import ClientAccess

_CLIENTS = 64  # whose tools are kept ready
_SESSIONS = 200  # of the protocol
_OWN_SESSIONS = 16  # of these, of one token: with one more the one that was used least recently ends
_SESSION = b"mcp-session-id"
_STARTING = 30.0
IDENTITY = "operable.identity"  # in the scope of a request

FindPlace = Callable[[str], AbstractAsyncContextManager[None]]
"""Of a token by its name: a place for one of its calls, in which the call ends with the token."""


class McpGateway:
    """The MCP server of one daemon. It belongs to the daemon's event loop."""

    def __init__(self, sessions: SessionRegistry, gate: CallGate, calling: FindPlace) -> None:
        self._sessions, self._gate, self._calling = sessions, gate, calling
        self._kept: OrderedDict[HttpIdentity, tuple[Sequence[Operable], Toolbox]] = OrderedDict()
        self._manager: StreamableHTTPSessionManager | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Event | None = None
        self._is_over = asyncio.Event()
        self._opened: defaultdict[HttpIdentity, OrderedDict[bytes, None]] = defaultdict(OrderedDict)
        self._ending: set[asyncio.Task[None]] = set()

    async def answer(
        self, identity: HttpIdentity, body: bytes, place: AbstractContextManager[StreamPlace] | None = None
    ) -> Response:
        """The answer to a request, which is written by the SDK. Raises Fail usage/MESSAGE_INVALID.

        `place`: it is a stream, and this is its place among those of its token.
        """
        if body:
            from operable.wire.jsonrpc import MalformedMessage, decode

            try:
                decode(body)
            except MalformedMessage as malformed:
                message = f"the body is not a message: {malformed.code}"
                raise Fail("usage", "MESSAGE_INVALID", message) from malformed
        return _McpAnswer(await self._started(), identity, body, self._used, place)

    def _used(self, identity: HttpIdentity, session: bytes) -> None:
        """A session of the protocol was opened, or asked for something."""
        own = self._opened[identity]
        own[session] = None
        own.move_to_end(session)
        while len(own) > _OWN_SESSIONS:
            self._end_session(identity, own.popitem(last=False)[0])

    def forget(self, name: str) -> None:
        """This token is not one any more, or this session has ended: the sessions of the protocol that it opened end."""
        for identity in [each for each in self._opened if each.name == name]:
            for session in self._opened.pop(identity):
                self._end_session(identity, session)

    def _end_session(self, identity: HttpIdentity, session: bytes) -> None:
        """As its client would. One that is gone already is not found, which makes no difference."""
        if self._manager is None or self._is_over.is_set():
            return
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "DELETE",
            "scheme": "http",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(b"accept", b"application/json, text/event-stream"), (_SESSION, session)],
        }

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Any) -> None:
            """No client reads it."""

        ending = _McpAnswer(self._manager, identity, b"", lambda _identity, _session: None, None)
        task = asyncio.get_running_loop().create_task(ending(scope, receive, send))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def end(self) -> None:
        """End every stream: the daemon is about to end."""
        self._is_over.set()

    async def aclose(self) -> None:
        self.end()
        if self._task is not None:
            await self._task
        for _, toolbox in self._kept.values():
            toolbox.results.close()

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._ready is None:
            self._ready = asyncio.Event()
            self._task = asyncio.get_running_loop().create_task(self._run())
        async with asyncio.timeout(_STARTING):
            await self._ready.wait()
        if self._manager is None or self._is_over.is_set():
            raise Fail("temporary", "DAEMON_ENDING", "the daemon is ending")
        return self._manager

    async def _run(self) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from operable.serve.mcp import server_for

        assert self._ready is not None  # noqa: S101 - see `_started`
        manager = StreamableHTTPSessionManager(
            server_for(self._access), max_sessions=_SESSIONS, max_request_body_size=sys.maxsize
        )  # bodies come from the route, which has a limit
        try:
            async with manager.run():
                self._manager = manager
                self._ready.set()
                await self._is_over.wait()
        finally:
            self._ready.set()

    async def _access(self, ctx: Any) -> ClientAccess:
        from operable.serve.mcp import ClientAccess

        identity: HttpIdentity = ctx.request.scope[IDENTITY]
        is_session = identity.kind == SESSION
        caller = CallerId("session" if is_session else "mcp", identity.name)
        toolbox = await self._toolbox(identity, caller)
        may_ask = identity.allows("approve") and not is_session
        return ClientAccess(toolbox, caller, may_ask, partial(self._calling, identity.name))

    async def _toolbox(self, identity: HttpIdentity, caller: CallerId) -> Toolbox:
        """The tools of a client: as long as the catalog is the same, the same."""
        from operable.serve.mcp_sessions import session_tools

        operables = await recent_catalog()
        known = self._kept.get(identity)
        if known is not None and known[0] is operables:
            self._kept.move_to_end(identity)
            return known[1]
        is_session = identity.kind == SESSION
        may_approve = identity.allows("approve") and not is_session
        own = ToolCaller(identity.name if is_session else None, may_approve, str(caller))
        toolbox = Toolbox(
            # A session starts agents with agent_start alone, which the delegation gate judges.
            [each for each in operables if each.kind != "agent"] if is_session else operables,
            gate=self._gate,
            workspace=os.getcwd(),
            enabled=True,
            read_only=not identity.allows("prompt"),
            own=[session_tools(self._sessions, own)],
            results=Results() if known is None else known[1].results,
            bounds=self._sessions.bounds(identity.name) if is_session else None,
        )
        self._kept[identity] = operables, toolbox
        while len(self._kept) > _CLIENTS:
            self._kept.popitem(last=False)[1][1].results.close()
        return toolbox


class _McpAnswer(Response):
    """Lets the SDK answer a request whose body was read already, as the caller that was identified."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        identity: HttpIdentity,
        body: bytes,
        used: Callable[[HttpIdentity, bytes], None],
        place: AbstractContextManager[StreamPlace] | None,
    ) -> None:
        super().__init__()
        self._manager, self._identity, self._body = manager, identity, body
        self._used, self._place = used, place

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._place is None:
            await self._handle(scope, receive, send)
            return
        over = asyncio.Event()
        with self._place as place:
            place.hold(over.set)
            handling = asyncio.ensure_future(self._handle(scope, receive, send))
            ending = asyncio.ensure_future(over.wait())
            try:
                await asyncio.wait((handling, ending), return_when=asyncio.FIRST_COMPLETED)
            finally:
                handling.cancel()
                ending.cancel()
                await asyncio.wait((handling, ending))
        if not handling.cancelled():
            handling.result()
            return
        with contextlib.suppress(RuntimeError):  # the response was whole already
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _handle(self, scope: Any, receive: Any, send: Any) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        owner = f"{self._identity.kind}:{self._identity.name}"
        user = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        waiting = [{"type": "http.request", "body": self._body, "more_body": False}]

        async def next_message() -> Any:
            return waiting.pop() if waiting else await receive()

        async def passed(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                session = dict(message.get("headers", ())).get(_SESSION)
                if session is not None and scope["method"] != "DELETE":
                    self._used(self._identity, session)
            await send(message)

        given = {**scope, "user": user, IDENTITY: self._identity}
        await self._manager.handle_request(given, next_message, passed)
