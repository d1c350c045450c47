"""The daemon as a web application: each request passes its name, its token, its scope and its limits, then its route.

Every answer has the security headers. Every failure is an answer of `operable.serve.http.errors`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from operable.kernel.errors import Fail
from operable.serve.daemon import Daemon
from operable.serve.http.access.browser import SECURITY_HEADERS
from operable.serve.http.access.tokens import SESSION, HttpIdentity
from operable.serve.http.caller import error_response, identify
from operable.serve.http.errors import encode_answer, status_of, unexpected
from operable.serve.http.route import HttpRoute, RouteCall, all_routes, read_body, read_query
from operable.serve.http.upgrade import answer_upgrade

BODY_TIMEOUT = 30.0  # seconds for the body of a request
_NO_IDENTITY = HttpIdentity("none", "", frozenset())
_JSON = "application/json"
# The parts whose routes look at the workspace of a token, or show nothing of one. A token of a workspace reaches no other.
_BY_WORKSPACE = frozenset(
    {"access", "approvals", "audit", "events", "info", "logout", "openapi.json", "sessions", "web"}
)


def make_app(daemon: Daemon) -> Any:
    """The application, as uvicorn takes it."""
    routes = []
    for declared in all_routes():
        route = Route(declared.path, _endpoint(daemon, declared), methods=[declared.method])
        if route.methods is not None:
            route.methods.discard("HEAD")
        routes.append(route)
    errors: dict[Any, Any] = {HTTPException: _routing_failed, Fail: _failed}
    app = Starlette(routes=routes, exception_handlers=errors)
    app.router.redirect_slashes = False
    return _protected(daemon, app)


def _endpoint(daemon: Daemon, route: HttpRoute) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Any:
        status = 500
        try:
            answer = await _answer(daemon, route, request)
            status = getattr(answer, "status_code", 200)
            return answer
        except Fail as fail:
            status = status_of(fail)
            return error_response(fail)
        except ClientDisconnect:
            return Response(status_code=400)  # no client reads it
        except Exception as error:  # noqa: BLE001 - a bug of ours must not end the daemon, and the log has it
            return error_response(unexpected(error, route.operation_id))
        finally:
            daemon.answers[route.operation_id, status] += 1

    return endpoint


async def _answer(daemon: Daemon, route: HttpRoute, request: Request) -> Any:
    identity = _NO_IDENTITY
    if route.scope != "none":
        identity = identify(daemon, request)
        identity.require(route.scope)
        if route.tag not in _BY_WORKSPACE:
            identity.require_workspace(None)
        if identity.kind == SESSION and not route.for_sessions:
            message = "a session of an agent may not use this route"
            raise Fail("authz", "SESSION_REFUSED", message, target=route.operation_id)
    async with daemon.calling(identity.name):
        # What takes no body waits for none: a client without a token could hold every place of those that have none.
        body = await _body(request, route.body_limit) if route.takes_body else b""
        call = RouteCall(
            daemon,
            identity,
            request.path_params,
            read_query(route, request.query_params.multi_items()),
            read_body(route, body),
            request.headers,
            request.scope,  # type: ignore[arg-type]
        )
        answer = await route.run(call)
    if route.result is None or isinstance(answer, Response):
        return answer
    return Response(
        encode_answer(answer), route.status, media_type=_JSON, headers={"cache-control": "no-store"}
    )


async def _body(request: Request, limit: int) -> bytes:
    """The body, up to its limit and within its time."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for chunk in request.stream():
                data += chunk
                if len(data) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        message = f"the body did not come within {BODY_TIMEOUT:g} s"
        raise Fail("timeout", "BODY_SLOW", message) from None
    return bytes(data)


def _too_large(limit: int) -> Fail:
    return Fail("usage", "BODY_TOO_LARGE", f"the body has more than {limit} bytes")


async def _failed(_: Request, error: Exception) -> Response:
    return error_response(error if isinstance(error, Fail) else unexpected(error, "a request"))


async def _routing_failed(request: Request, error: Exception) -> Response:
    """No route has this path, or the path has no such method."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        message = f"this path does not take {request.method}"
        response = error_response(Fail("usage", "METHOD_NOT_ALLOWED", message))
        response.headers.update(error.headers or {})
        return response
    hint = "GET /openapi.json lists the routes"
    return error_response(Fail("not_found", "NO_SUCH_ROUTE", "there is no such route", hint=hint))


def _protected(daemon: Daemon, app: Any) -> Any:
    """The application behind the check of names, with the security headers on every answer."""

    async def protected(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await answer_upgrade(daemon, scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
            await send(message)

        request = Request(scope)
        try:
            daemon.names.check(request.method, request.headers)
        except Fail as fail:
            await error_response(fail)(scope, receive, with_headers)
        else:
            await app(scope, receive, with_headers)

    return protected
