"""JSON-RPC messages of ACP on their way in and out: lines of stdin and stdout, for the connection of the official SDK.

The SDK routes messages; what it is given is checked here, because a line that is not a message must not end its
connection: it is answered with the error that JSON-RPC has for it, and the next line is read. Reading and writing
happen in two threads, with the mechanisms of the JSON-stream server. So a client that does not read slows down the
writer, but a cancel is still read.
"""

import asyncio
import queue
import signal
import threading
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from acp.agent.connection import AgentSideConnection

from operable.agent.standard_streams import CommandLines, LineOutlet
from operable.kernel.errors import EX_SIGPIPE
from operable.kernel.json import json_line
from operable.wire.jsonrpc import error_response
from operable.wire.lines import LineTooLong

_AHEAD = 64  # messages that wait in either direction
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
# After the last line, so long may the answers to earlier ones take. A turn is not waited for: no client listens to it
# any more.
_LAST_ANSWERS = 5.0
_NOTIFICATIONS = frozenset({"session/cancel"})
# Requests of the protocol that the SDK has types for and no route: they come in as extensions (`ext_method`).
_UNROUTED = {"session/delete": "_session/delete"}
_TURN = "session/prompt"
_Sent = tuple[bytes, "asyncio.Future[None] | None"]  # None: posted


class Methods(Protocol):
    """The methods of the protocol, called by the SDK."""

    async def leave(self) -> None:
        """The end of the process."""


class EditorTransport(Protocol):
    """What messages come and go on: a transport of the SDK, and an end of its reading."""

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""

    async def close(self) -> None:
        """Send nothing more."""

    def end(self) -> None:
        """Read no more."""


async def serve(methods_of: "Callable[[LineTransport], Methods]", stdin: int, stdout: int) -> int:
    """Serve one editor until the input ends, a signal comes, or the editor no longer reads; return the exit status."""
    transport = LineTransport(stdin, stdout)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, transport.end)
    await converse(methods_of(transport), transport)
    return EX_SIGPIPE if transport.gone else 0


async def converse(methods: Methods, transport: "EditorTransport") -> None:
    """Answer one editor until its transport ends."""
    connection = AgentSideConnection(
        methods,  # type: ignore[arg-type]  # it has all methods except those that it does not offer
        transport,
        listening=False,
        use_unstable_protocol=True,
    )
    try:
        await connection.listen()
    finally:
        transport.end()
        await methods.leave()
        await connection.close()


class LineTransport:
    """See `acp` on transports: `receive` gives None at the end. Made inside the running loop."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = CommandLines(stdin)
        self._outlet = LineOutlet(stdout, self._lines.end)
        self._inbox: asyncio.Queue[bytes | LineTooLong | None] = asyncio.Queue(_AHEAD)
        self._outbox: queue.SimpleQueue[_Sent | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(_AHEAD)  # for what is posted
        self._closed = False
        self._asked: set[Any] = set()  # ids of requests that are not answered yet
        self._answered = asyncio.Event()
        threading.Thread(target=self._read, daemon=True, name="acp reader").start()
        self._writer = threading.Thread(target=self._write, daemon=True, name="acp writer")
        self._writer.start()

    @property
    def gone(self) -> bool:
        """No client reads what is written."""
        return self._outlet.gone

    def end(self) -> None:
        """Read no more, and wait only a little longer. Also from a signal handler."""
        self._outlet.hurry()
        self._lines.end()

    async def receive(self) -> dict[str, Any] | None:
        while (line := await self._inbox.get()) is not None:
            message, error = checked_message(line)
            if message is not None:
                if is_foreign(message):
                    continue
                if message.get("id") is not None and message.get("method", _TURN) != _TURN:
                    self._asked.add(message["id"])
                return routed(message)
            await self.send(error_response(None, error))
        await self._last_answers()
        return None

    async def _last_answers(self) -> None:
        """At the end of the input the connection drops what it is still at; the requester gets an answer before."""
        try:
            async with asyncio.timeout(_LAST_ANSWERS):
                while self._asked and not self.gone:
                    self._answered.clear()
                    await self._answered.wait()
        except TimeoutError:
            return

    async def send(self, message: dict[str, Any]) -> None:
        """Returns when it is written; output without a reader is dropped."""
        sent: asyncio.Future[None] = self._loop.create_future()
        self._outbox.put((json_line(without_parameters(message), other=str), sent))
        await sent
        if "method" not in message:
            self._asked.discard(message.get("id"))
            self._answered.set()

    def post(self, message: dict[str, Any]) -> None:
        """Send from another thread than the loop's, in order with what it has sent; waits while many are unwritten.

        For words as they come: a visit to the loop and the SDK's models would cost more than all the rest of a word.
        """
        if not self._closed:
            self._room.acquire()
            self._outbox.put((json_line(message, other=str), None))

    async def close(self) -> None:
        self._closed = True
        self.end()
        self._outbox.put(None)
        await asyncio.to_thread(self._writer.join)

    def _read(self) -> None:
        try:
            for line in self._lines:
                asyncio.run_coroutine_threadsafe(self._inbox.put(line), self._loop).result()
            asyncio.run_coroutine_threadsafe(self._inbox.put(None), self._loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return  # the loop has ended first

    def _write(self) -> None:
        while (item := self._outbox.get()) is not None:
            line, sent = item
            self._outlet.write(line)
            if sent is None:
                self._room.release()
            else:
                self._loop.call_soon_threadsafe(_settle, sent)


def is_foreign(message: dict[str, Any]) -> bool:
    """A notification that this agent does not know: it has no answer, and the SDK would log a traceback about it."""
    method = message.get("method")
    if method is None or "id" in message:
        return False
    return method not in _NOTIFICATIONS and not method.startswith("_")


def routed(message: dict[str, Any]) -> dict[str, Any]:
    """The message under a name that the SDK has a route for."""
    method = message.get("method")
    return {**message, "method": _UNROUTED[method]} if method in _UNROUTED else message


def _settle(sent: "asyncio.Future[None]") -> None:
    if not sent.done():
        sent.set_result(None)


def checked_message(line: bytes | LineTooLong) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The message on this line, or the error that it is answered with."""
    if isinstance(line, LineTooLong):
        return None, _error(_INVALID_REQUEST, f"A message has at most {line.limit} bytes")
    try:
        message = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None, _error(_PARSE_ERROR, "Parse error")
    if not isinstance(message, dict):
        return None, _error(_INVALID_REQUEST, "A message is a JSON object")
    if not isinstance(message.get("method", ""), str):
        return None, _error(_INVALID_REQUEST, "A method is a string")
    if not isinstance(message.get("id"), str | int | float | None) or isinstance(message.get("id"), bool):
        return None, _error(_INVALID_REQUEST, "An id is a string or a number")
    if "error" in message and not isinstance(message["error"], dict | None):
        return None, _error(_INVALID_REQUEST, "An error is an object")
    return message, {}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}


def without_parameters(message: dict[str, Any]) -> dict[str, Any]:
    """Complaints about parameters without the parameters: they may contain keys of MCP servers."""
    error = message.get("error")
    data = error.get("data") if isinstance(error, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("errors"), list):
        return message
    kept = [
        {name: entry[name] for name in ("type", "loc", "msg") if name in entry}
        for entry in data["errors"]
        if isinstance(entry, dict)
    ]
    return {**message, "error": {**error, "data": {**data, "errors": kept}}}  # type: ignore[dict-item]
