"""One conversation with an MCP server, for blocking code: the official SDK in a thread with a loop of its own.

Entering starts the server, greets it and lists its tools, all within a time limit; leaving ends it. A call gives what
comes: progress as (done, total, message), then the result; what that links to can be read while the block lasts. Whatever
the SDK or the server do wrong is one structured error.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from dataclasses import field
from typing import Any, Self

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, redact_text
from operable.proc.spawn import prepare
from operable.run.mcp import client_session, innermost, list_tools, mcp_process
from operable.wrap.endings import shown
from operable.wrap.plan.settings import allowed_to_server
from operable.wrap.rows import secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONNECT_TIMEOUT = 30.0
_CLOSE_TIMEOUT = 10.0
_READ_TIMEOUT = 30.0
_EXCERPT = 240  # of a server's own words, in a message
_END = object()


@dataclass(frozen=True, slots=True)
class About:
    """Who the server says it is."""

    name: str
    version: str
    description: str


@dataclass(frozen=True, slots=True)
class ServerTool:
    """One tool of the server."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=dict)
    read_only: bool = False
    destructive: bool = True


class ServerConnection:
    """A server that runs while the block lasts."""

    def __init__(self, argv: Sequence[str]) -> None:
        inherit, self._believes = allowed_to_server(argv)
        self._command = prepare(argv, cwd=os.getcwd(), inherit=inherit)._replace(tree=True)
        self.secrets = secrets(inherit)
        self._stderr = ""
        self._thread: threading.Thread | None = None
        self._session: Any = None
        self.about = About("", "", "")
        self.tools: list[ServerTool] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Start the server, unless it runs; Fail when it does not answer. It ends with the next block, or with us."""
        if self._thread is not None:
            return
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._leave = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="mcp")
        self._thread.start()
        answer = self._ready.get()
        if isinstance(answer, BaseException):
            self._thread.join(_CLOSE_TIMEOUT)
            raise self._failure(answer, self._command.argv[0]) from answer

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._leave.set)
            self._thread.join(_CLOSE_TIMEOUT)
            self._thread = None

    def call(self, name: str, arguments: dict[str, Any]) -> Iterator[Any]:
        """Progress as it comes, then the result."""
        items: queue.SimpleQueue[Any] = queue.SimpleQueue()

        async def report(done: float, total: float | None, message: str | None) -> None:
            items.put((done, total, message))

        async def ask() -> None:
            try:
                items.put(await self._session.call_tool(name, arguments, progress_callback=report))
            except Exception as error:  # noqa: BLE001 - whatever SDK or server do is reported to the caller
                items.put(error)
            items.put(_END)

        future = asyncio.run_coroutine_threadsafe(ask(), self._loop)
        try:
            while (item := items.get()) is not _END:
                if isinstance(item, Exception):
                    raise self._failure(item, name) from item
                yield item
        finally:
            future.cancel()

    def read(self, uri: str) -> list[Any]:
        """What a resource of the server contains; Fail when it does not give it."""

        async def ask() -> list[Any]:
            async with asyncio.timeout(_READ_TIMEOUT):
                return list((await self._session.read_resource(uri)).contents)

        try:
            # Longer than the limit inside: that one counts unless the loop has ended, which would be waited for forever.
            return asyncio.run_coroutine_threadsafe(ask(), self._loop).result(_READ_TIMEOUT + _CLOSE_TIMEOUT)
        except Exception as error:
            raise self._failure(error, uri) from error

    def _heard(self, stderr: str) -> None:
        self._stderr = stderr

    def _failure(self, error: BaseException, what: str) -> Fail:
        """What went wrong, with what the server said last: why it ended is there, if anywhere."""
        fail = _failure(error, what)
        fail.message = Known(self.secrets).text(fail.message)
        said = shown(self._stderr, self.secrets)
        if said:
            fail.details["upstream_stderr"] = said
            if fail.code == "MCP_SERVER_FAILED":
                fail.message += f": {said.partition(chr(10))[0][:_EXCERPT]}"
        return fail

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._keep())
        except BaseException as error:  # noqa: BLE001 - reported to the waiting caller; later ones have no reader left
            self._ready.put(error)
        finally:
            self._loop.close()

    async def _keep(self) -> None:
        async with (
            mcp_process(self._command, on_stderr=self._heard) as streams,
            client_session(streams, "operable-wrap") as session,
        ):
            async with asyncio.timeout(CONNECT_TIMEOUT):
                hello = await session.initialize()
                self.tools = [_listed(tool, self._believes) for tool in await list_tools(session)]
            said = hello.server_info
            self.about = About(said.name, said.version or "", getattr(said, "description", None) or "")
            self._session = session
            self._ready.put(None)
            await self._leave.wait()


def _listed(tool: Any, believed: bool) -> ServerTool:
    """What the server says of a tool. Its hints count only where the user believes them: else it may be anything."""
    hints = tool.annotations if believed else None
    read_only = hints is not None and hints.read_only_hint is True
    harmless = read_only or (hints is not None and hints.destructive_hint is False)
    return ServerTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema or {},
        read_only=read_only,
        destructive=not harmless,
    )


def _failure(error: BaseException, what: str) -> Fail:
    error = innermost(error)
    if isinstance(error, Fail):
        return error
    if isinstance(error, TimeoutError):
        return Fail(
            "timeout", "MCP_NO_ANSWER", f"{what} did not answer within {CONNECT_TIMEOUT:g} s", target=what
        )
    words = redact_text(str(error) or type(error).__name__).strip().partition("\n")[0][:300]
    return Fail("io", "MCP_SERVER_FAILED", f"{what}: {words}", target=what)
