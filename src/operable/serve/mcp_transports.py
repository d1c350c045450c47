"""How clients of the MCP server reach it: the pipes of the process that started it, or HTTP on this machine.

Over stdio it ends when its input does. Over HTTP (streamable HTTP at /mcp) every request needs the token as a bearer, also
from this machine, where other users and web pages in a browser can reach the port too; names of hosts and origins are
checked by the SDK. Other addresses than loopback are refused: there is no encryption here.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import os
import re
import secrets
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from operable.kernel.errors import Fail
from operable.kernel.json import json_line
from operable.serve.http.connection import BACKLOG, BoundedListener, IdleTimeoutProtocol
from operable.state.atomic import advise, create_whole

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

_LINE = 16 * 1024 * 1024
BODY_LIMIT = 4 * 1024 * 1024  # bytes of a request over HTTP
BODY_TIMEOUT = 30.0  # seconds until a request over HTTP is there
SESSIONS = 200  # of clients over HTTP; each takes 40 kB, and is gone after half an hour without a request
_Result = TypeVar("_Result")


async def serve_stdio(made: Server[Any], stdin: int, stdout: int) -> None:
    """Serve one client on these descriptors, until it closes its end."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    arrived, read = anyio.create_memory_object_stream[Any](0)
    write, to_send = anyio.create_memory_object_stream[Any](0)
    refused = write.clone()
    source = os.fdopen(stdin, "rb", closefd=False)

    async def receive() -> None:
        async with arrived, refused:
            while line := await _apart(_read_line, source):
                try:
                    message = SessionMessage(jsonrpc_message_adapter.validate_json(line))
                except ValueError:
                    for answer in _refusals(line):
                        await refused.send(answer)
                else:
                    await arrived.send(message)

    async def send() -> None:
        async with to_send:
            async for message in to_send:
                await _apart(_write_all, stdout, _encoded(message))

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        await made.run(read, write, made.create_initialization_options())
        group.cancel_scope.cancel()


def _read_line(source: BinaryIO) -> bytes:
    """The next line; of one that is too long the beginning, which is not a message: the rest of it is not a line."""
    line = rest = source.readline(_LINE)
    while len(rest) == _LINE and not rest.endswith(b"\n"):
        rest = source.readline(_LINE)
    return line


def _encoded(message: Any) -> bytes:
    """A message of the SDK, or a line of ours."""
    if isinstance(message, bytes):
        return message
    text: str = message.message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode() + b"\n"


def _refusals(line: bytes) -> list[bytes]:
    """The answers to the requests on a line that cannot be read. The SDK has none, and their client would wait."""
    from operable.wire.jsonrpc import (
        INVALID_REQUEST,
        PARSE_ERROR,
        MalformedMessage,
        decode,
        error_response,
        unread_heads,
    )

    try:
        decode(line)
        fault = "not_a_message"
    except MalformedMessage as malformed:
        fault = "too_long" if len(line) >= _LINE else malformed.code
    code = PARSE_ERROR if fault in ("not_json", "too_long") else INVALID_REQUEST
    error = {"code": code, "message": f"The request cannot be read: {fault}"}
    return [json_line(error_response(head.id, error)) for head in unread_heads(line) if head.is_request]


async def _apart(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """The result of a function that waits for the client, from a thread that is not joined.

    A read cannot be interrupted, nor a write to a client that does not read. The threads of the library are waited for when
    the process ends, which would then end when the client lets it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def settle(how: Callable[[Any], None], outcome: Any) -> None:
        if not done.done():
            how(outcome)

    def work() -> None:
        try:
            how, outcome = done.set_result, function(*arguments)
        except Exception as problem:  # noqa: BLE001 - raised again where it is waited for
            how, outcome = done.set_exception, problem  # type: ignore[assignment]
        with contextlib.suppress(RuntimeError):  # the loop has ended: the client no longer waits
            loop.call_soon_threadsafe(settle, how, outcome)

    threading.Thread(target=work, daemon=True, name="mcp-client").start()
    return await done


def listening(host: str, port: int) -> BoundedListener:
    """A socket on a loopback address; Fail for another one, or when it is taken."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise Fail(
            "config",
            "ADDRESS_NOT_LOOPBACK",
            f"{host} can be reached from other machines, and this server has no encryption",
            target=host,
            hint="serve on 127.0.0.1, behind a proxy with TLS",
        )
    return BoundedListener.open(host, port)


async def serve_http(made: Server[Any], listener: BoundedListener, host: str, token: str) -> None:
    """Serve clients on a socket, until a signal."""
    import uvicorn

    app = made.streamable_http_app(
        transport_security=_own_names(host), max_request_body_size=BODY_LIMIT, max_sessions=SESSIONS
    )
    config = uvicorn.Config(
        _guarded(app, token),
        http=IdleTimeoutProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        backlog=BACKLOG,
        timeout_graceful_shutdown=5,
    )
    serving = uvicorn.Server(config)
    listener.connections = serving.server_state.connections
    # Not by uvicorn: Starlette prints a traceback when a signal takes the loop away from its wait for the end.
    with listener:
        async with app.router.lifespan_context(app):
            await serving.serve(sockets=[listener])


def _own_names(host: str) -> TransportSecuritySettings:
    """Of hosts and origins that requests may name: a web page whose name was made to mean this machine has another one.

    Said here because the SDK does so for three spellings of loopback only, and lets everything pass for 127.0.0.2.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    names = sorted({"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host})
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )


def token_of(folder: str) -> tuple[str, str]:
    """The token of this user's servers, and the private file that has it; made when it is not there."""
    path = os.path.join(folder, "mcp-token")
    try:
        if not os.path.lexists(path):
            _make_token(path)
    except OSError as problem:
        raise Fail(
            "io",
            "STATE_UNWRITABLE",
            f"the token of this server cannot be kept: {problem.strerror}",
            target=path,
            hint=advise(problem),
        ) from problem
    try:
        with open(path, encoding="ascii") as file:
            private = os.fstat(file.fileno()).st_mode & 0o077 == 0
            token = file.read(1000).strip()
    except (OSError, ValueError) as problem:
        raise Fail("config", "TOKEN_INVALID", f"{path} cannot be used: {problem}", target=path) from problem
    if len(token) < 32 or not private:
        why = "contains no token" if private else "can be read by others, who may know the token by now"
        raise Fail("config", "TOKEN_INVALID", f"{path} {why}", target=path, hint=f"rm {path}")
    return token, path


def _make_token(path: str) -> None:
    """Of two servers that start at once, both get the token that was first."""
    with contextlib.suppress(FileExistsError):
        create_whole(path, secrets.token_urlsafe(32).encode() + b"\n")


def _guarded(app: Any, token: str) -> Any:
    """The application behind its token. It gets requests that are whole, in time, and messages."""
    wanted = f"Bearer {token}".encode()

    async def guard(scope: dict[str, Any], receive: _Receive, send: Callable[[Any], Awaitable[None]]) -> Any:
        async def refuse(status: int, body: bytes = b"", *more: tuple[bytes, bytes]) -> None:
            headers = [*more, (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        if scope["type"] != "http":
            return await app(scope, receive, send)
        headers = dict(scope["headers"])
        if not hmac.compare_digest(headers.get(b"authorization", b""), wanted):
            return await refuse(401, b"", (b"www-authenticate", b"Bearer"))
        # The SDK compares the beginning only: `http://127.0.0.1:1.evil.example` would be ours.
        if not _ENDS_IN_PORT.search(headers.get(b"host", b"")):
            return await refuse(421)
        if not _ENDS_IN_PORT.search(headers.get(b"origin", b":0")):
            return await refuse(403)
        if scope["method"] != "POST":
            return await app(scope, receive, send)
        try:
            body = await asyncio.wait_for(_body(receive), BODY_TIMEOUT)
        except TimeoutError:
            return await refuse(408, b"", (b"connection", b"close"))
        if body is None:  # the client has gone; the SDK would report that as an error of its own
            return None
        if len(body) <= BODY_LIMIT and (fault := _fault(body)) is not None:
            return await refuse(400, fault, (b"content-type", b"application/json"))
        return await app(scope, _replayed(body, receive), send)

    return guard


_Receive = Callable[[], Awaitable[Any]]
_ENDS_IN_PORT = re.compile(rb"\A[^@]*:[0-9]{1,5}\Z")


async def _body(receive: _Receive) -> bytes | None:
    """The body of a request, and a part of one that is too long; None if the client has gone before its end."""
    body = bytearray()
    while len(body) <= BODY_LIMIT:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return bytes(body)


def _fault(body: bytes) -> bytes | None:
    """The answer to a body that is not a message. The SDK takes a request with an invalid id for a notification."""
    from operable.wire.jsonrpc import INVALID_REQUEST, MalformedMessage, decode, error_response

    try:
        decode(body)
    except MalformedMessage as malformed:
        error = {"code": INVALID_REQUEST, "message": f"The request cannot be read: {malformed.code}"}
        answers = _refusals(body)
        return answers[0] if len(answers) == 1 else json_line(error_response(None, error))
    return None


def _replayed(body: bytes, receive: _Receive) -> _Receive:
    """A request whose body was read already."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Any:
        return waiting.pop() if waiting else await receive()

    return next_message


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
