"""The one thing that is a WebSocket: `/acp/NAME`, an agent for an editor, as `operable serve --acp NAME` is over stdio.

The token is a bearer in the request that asks for the socket. The cookie of a browser is not taken: a page could open a
socket with it. What is refused is answered over HTTP, before there is a socket. Messages are bounded, and not compressed:
some kilobytes could become gigabytes.
"""

import asyncio
import re
from typing import Any, Final

from starlette.requests import HTTPConnection
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from operable.kernel.errors import Fail
from operable.serve.daemon import Daemon
from operable.serve.http.access.browser import SECURITY_HEADERS
from operable.serve.http.access.tokens import PROGRAM, HttpIdentity
from operable.serve.http.caller import error_response, identify
from operable.serve.http.errors import status_of, unexpected

MESSAGE_LIMIT = 8 * 1024 * 1024  # bytes of one message, as of the body of a call
PING_EVERY = 20.0  # seconds; the answer has as long
_PATH: Final = re.compile(r"/acp/([^/]{1,100})")
_OPERATION: Final = "editAgent"


class SocketConnection(WSProtocol):
    """A connection that was HTTP, and has a request in flight for as long as it lives."""

    is_idle = False
    descriptor = -1

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.descriptor = transport.get_extra_info("socket").fileno()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()  # closing would wait until the client has read what is written


def socket_options() -> dict[str, Any]:
    """The settings of the server library for them."""
    return {
        "ws": SocketConnection,
        "ws_max_size": MESSAGE_LIMIT,
        "ws_ping_interval": PING_EVERY,
        "ws_ping_timeout": PING_EVERY,
        "ws_per_message_deflate": False,
    }


async def answer_upgrade(daemon: Daemon, scope: Any, receive: Any, send: Any) -> None:
    """Serve an editor until it goes, or refuse it."""
    status = 101
    try:
        connection = HTTPConnection(scope)
        daemon.names.check("GET", connection.headers)
        agent = _agent_of(scope["path"])
        identity = _editor(daemon, connection)
        daemon.require_stream(identity.name)
        from operable.serve.acp.web_socket import (  # the SDK of the protocol is loaded by need
            check_agent,
            serve_socket,
        )

        await asyncio.to_thread(check_agent, agent)
        with daemon.stream(identity.name) as place:
            over = asyncio.Event()
            place.hold(
                over.set
            )  # who takes the token back ends the socket, and with it the sessions of the editor
            await serve_socket(agent, identity, receive, send, over)
    except Fail as fail:
        status = status_of(fail)
        await _refuse(fail, scope, receive, send)
    except Exception as error:  # noqa: BLE001 - a bug of ours must not end the daemon, and the log has it
        status = 500
        await _refuse(unexpected(error, _OPERATION), scope, receive, send)
    finally:
        daemon.answers[_OPERATION, status] += 1


def _agent_of(path: str) -> str:
    found = _PATH.fullmatch(path)
    if found is None:
        hint = "editors find agents at /acp/NAME"
        raise Fail("not_found", "NO_SUCH_ROUTE", "there is no socket at this path", hint=hint)
    return found[1]


def _editor(daemon: Daemon, connection: HTTPConnection) -> HttpIdentity:
    """Whose editor it is. Raises Fail authn, authz."""
    identity = identify(daemon, connection)
    if identity.kind != PROGRAM:
        message = (
            "an editor takes a token as a bearer, not the login of a browser or the credential of a session"
        )
        raise Fail("authz", "ACP_NEEDS_TOKEN", message)
    identity.require("prompt")
    identity.require_workspace(None)
    return identity


async def _refuse(fail: Fail, scope: Any, receive: Any, send: Any) -> None:
    """The answer of HTTP in place of a socket; a socket that is open already is closed."""
    answer = error_response(fail)
    answer.headers.update({name.decode(): value.decode() for name, value in SECURITY_HEADERS})
    try:
        await answer(scope, receive, send)
    except RuntimeError:  # there is a socket
        await send({"type": "websocket.close", "code": 1011})
