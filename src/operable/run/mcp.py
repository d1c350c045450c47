"""MCP servers: one that is a process of ours, between its pipes and the streams of the SDK, and a session with any.

The SDK would also start processes, but in this project only `operable.proc` does, because its processes end with their
owner, also after kill -9, with all that they started. A server's stderr is drained and kept in bounds; it may say anything,
so it goes only to a caller that asks for it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from operable import __version__
from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.tree.escalation import Graces
from operable.wire.lines import LineSplitter

_BACKLOG = 256  # messages that the SDK has not taken yet; a server that sends more waits
_GRACES = Graces(interrupt=0.5, terminate=0.5)
_PAGES = 50  # of a listing; a server that has more goes in circles
_HTTP_TIMEOUT, _HTTP_SILENCE = 30.0, 300.0
Streams = tuple[Any, Any]


@asynccontextmanager
async def mcp_process(
    command: PreparedCommand, *, on_stderr: Callable[[str], object] | None = None
) -> AsyncIterator[Streams]:
    """Start it; its streams for `mcp.ClientSession`. At the end of the block it is ended, and its stderr reported."""
    process = _Process(command)
    try:
        yield process.streams
    finally:
        await process.end()
        if on_stderr is not None:
            on_stderr(process.stderr())


class _Process:
    """A server that we started, between its pipes and the SDK's streams."""

    def __init__(self, command: PreparedCommand) -> None:
        import anyio

        self._arrived, read = anyio.create_memory_object_stream[Any](0)
        write, self._to_send = anyio.create_memory_object_stream[Any](0)
        self.streams = (read, write)
        self._lines = asyncio.Queue[bytes | None]()
        self._splitter = LineSplitter()
        self._ended = asyncio.Event()
        self._child = Child(
            asyncio.get_running_loop(),
            command,
            on_stdout=self._take,
            on_stdout_end=lambda: self._lines.put_nowait(None),
            on_end=self._note_end,
            stdin=OPEN,
            graces=_GRACES,
        )
        self._tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._send())]

    async def end(self) -> None:
        """The child has a moment to end by itself, then less kindly."""
        for task in self._tasks:
            task.cancel()
        if self._child.stdin is not None:
            self._child.stdin.finish()
        self._child.terminate()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ended.wait()  # the ladder ends in SIGKILL: this is soon
        for stream in (*self.streams, self._arrived, self._to_send):
            stream.close()

    def stderr(self) -> str:
        """What it has said there, in bounds."""
        return self._child.stderr.text()

    def _take(self, chunk: bytes) -> None:
        for line in self._splitter.feed(chunk):
            self._lines.put_nowait(line)
        if self._splitter.error is not None:
            self._child.kill()  # what has lost one line cannot be followed
        elif self._lines.qsize() > _BACKLOG:
            self._child.stdout.pause()

    def _note_end(self, _end: ChildEnd) -> None:
        self._ended.set()

    async def _receive(self) -> None:
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        async with self._arrived:
            while (line := await self._lines.get()) is not None:
                if self._lines.empty():
                    self._child.stdout.resume()
                try:
                    message: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line))
                except ValueError as problem:
                    mended = _mended(line)
                    message = problem if mended is None else SessionMessage(mended)
                await self._arrived.send(message)

    async def _send(self) -> None:
        async with self._to_send:
            async for message in self._to_send:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if self._child.stdin is not None:
                    self._child.stdin.write(text.encode() + b"\n")


def _mended(line: bytes) -> Any:
    """What a line means that the SDK cannot read, which it would drop: the caller would wait for the answer in it forever.

    Half of a surrogate pair, as JSON can spell it, and bytes that are not UTF-8 become U+FFFD. Another answer becomes a
    failure of what it answers. None: it does not answer any request.
    """
    from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

    try:
        value = json.loads(line.decode("utf-8", "replace"))
        text = re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return None
    try:
        return jsonrpc_message_adapter.validate_json(text)
    except ValueError:
        number = value.get("id") if isinstance(value, dict) and "method" not in value else None
        if not isinstance(number, int | str):
            return None
    problem = ErrorData(code=INTERNAL_ERROR, message="the server's answer is not a message of the protocol")
    return JSONRPCError(jsonrpc="2.0", id=number, error=problem)


@asynccontextmanager
async def mcp_http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Streams]:
    """A server over streamable HTTP. Redirects are not followed: they could lead anywhere, with the headers."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # A stream of events may be silent for long; everything else may not.
    timeout = httpx2.Timeout(_HTTP_TIMEOUT, read=_HTTP_SILENCE)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


# A client session with an MCP server, over any transport of the SDK: greeting, the list of tools, why it failed.


@asynccontextmanager
async def client_session(streams: Streams, name: str) -> AsyncIterator[Any]:
    """An `mcp.ClientSession` on these streams, as the client `name`; the caller greets the server (`initialize`)."""
    from mcp import ClientSession, Implementation

    client = Implementation(name=name, version=__version__)
    async with ClientSession(*streams, client_info=client) as session:
        yield session


async def list_tools(session: Any) -> list[Any]:
    """All tools of a server, page by page."""
    from mcp.types import PaginatedRequestParams

    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def innermost(error: BaseException) -> BaseException:
    """The reason itself; task groups wrap what happened in them."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
