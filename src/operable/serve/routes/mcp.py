"""MCP over streamable HTTP: everything that can be called, and the sessions of agents, for clients that have a token."""

from starlette.responses import Response

from operable.kernel.errors import Fail
from operable.serve.http.access.tokens import BROWSER
from operable.serve.http.route import CALL_BODY_LIMIT, HttpRoute, NoQuery, RouteCall

_CODES = {
    400: ("MESSAGE_INVALID",),
    403: ("MCP_NEEDS_TOKEN",),
}
_STATUSES = {
    202: "A notification or an answer was taken.",
    406: "The client does not accept what the server answers.",
    409: "The client has a stream already.",
    415: "The body is not called JSON.",
}


async def exchange(call: RouteCall[NoQuery, bytes]) -> Response:
    """A message, a stream of what the server says by itself, or the end of a session of the protocol."""
    if (
        call.identity.kind == BROWSER
    ):  # a page of this site must not reach it through a browser that has logged in
        message = "MCP takes a token as a bearer, not the login of a browser"
        raise Fail("authz", "MCP_NEEDS_TOKEN", message)
    daemon, name = call.daemon, call.identity.name
    if call.scope["method"] != "GET":
        return await daemon.gateway.answer(call.identity, call.body or b"")
    daemon.require_stream(name)
    return await daemon.gateway.answer(call.identity, b"", daemon.stream(name))


ROUTES = (
    HttpRoute(
        "POST",
        "/mcp",
        "sendMcpMessage",
        "Send a message of MCP; the answer is JSON or a stream of events.",
        "read",
        exchange,
        has_raw_body=True,
        body_limit=CALL_BODY_LIMIT,
        errors=_CODES,
        other_statuses=_STATUSES,
        for_sessions=True,
    ),
    HttpRoute(
        "GET",
        "/mcp",
        "followMcp",
        "Follow what the server says to a session of MCP.",
        "read",
        exchange,
        media="text/event-stream",
        errors=_CODES,
        other_statuses={**_STATUSES, 405: "This version of the protocol has no such stream."},
        for_sessions=True,
    ),
    HttpRoute(
        "DELETE",
        "/mcp",
        "endMcp",
        "End a session of MCP.",
        "read",
        exchange,
        errors=_CODES,
        other_statuses={**_STATUSES, 405: "This version of the protocol has no sessions."},
        for_sessions=True,
    ),
)
