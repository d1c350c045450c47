"""Connections to upstream MCP servers: opened with the first call, shared by those that follow, left when idle.

Theory of operation. A connection is a task of the event loop that needs it: the SDK wants to be left by the task that
entered it. A call looks at the definition of its tool first; one that is not as it was approved is not called. A server
that does not answer within its time, or that ends, fails the calls that wait, and the next call connects anew. A process
of ours gets the variables that were registered for it and no others, and ends with us.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from operable.host.secret_backend import SecretScope, fetch
from operable.host.upstream.registration import UpstreamServer, UpstreamTool, listed_tool
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, redact_text
from operable.offer.action import Progress
from operable.proc.spawn import prepare
from operable.run.mcp import Streams, client_session, innermost, list_tools, mcp_http, mcp_process

CONNECT_TIMEOUT = 30.0
CALL_TIMEOUT = 600.0
IDLE = 300.0
_END_TIMEOUT = 5.0
_WORDS = 300  # characters of what a server says of its failure


class UpstreamConnection:
    """One server, as long as it is used."""

    def __init__(self, server: UpstreamServer) -> None:
        self._server = server
        self.known = Known()
        self.tools: list[Any] = []
        self._session: Any = None
        self._stderr = ""
        self._problem: BaseException | None = None
        self._ready, self._leave = asyncio.Event(), asyncio.Event()
        self._calls = 0
        self._idle: asyncio.TimerHandle | None = None
        self.task = asyncio.get_running_loop().create_task(self._keep())

    @property
    def is_over(self) -> bool:
        return self.task.done() or self._leave.is_set()

    async def ready(self) -> None:
        """Raises Fail io/UPSTREAM_FAILED, timeout/UPSTREAM_NO_ANSWER."""
        await self._ready.wait()
        if self._problem is not None:
            raise self._failure(self._problem)

    async def call(
        self,
        tool: UpstreamTool,
        arguments: Mapping[str, Any],
        progress: Progress,
        *,
        timeout: float | None = None,
    ) -> Any:
        """The result of one call. Raises Fail authz/UPSTREAM_CHANGED, and as `ready`. `timeout`: of all of it, the
        connection too.
        """
        self._calls += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            async with asyncio.timeout(timeout):
                await self.ready()
                self._require_same(tool)
                async with asyncio.timeout(CALL_TIMEOUT):
                    calling = self._session.call_tool(
                        tool.own_name, dict(arguments), progress_callback=progress
                    )
                    return await self._unless_over(calling)
        except Fail:
            raise
        except Exception as error:
            if not _is_answer(error):
                self._leave.set()  # the next call connects anew
                with suppress(TimeoutError):
                    await asyncio.wait_for(
                        asyncio.shield(self.task), _END_TIMEOUT
                    )  # why it ended is known then
            raise self._failure(error) from error
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle = asyncio.get_running_loop().call_later(IDLE, self._leave.set)

    async def close(self) -> None:
        self._leave.set()
        with suppress(Exception):  # its calls have the reason
            await self.task

    async def _unless_over(self, calling: Any) -> Any:
        """The SDK waits for an answer also when the server is gone."""
        asked = asyncio.ensure_future(calling)
        try:
            await asyncio.wait({asked, self.task}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise self._problem or ConnectionError("the server ended")
            return asked.result()
        finally:
            asked.cancel()

    def _require_same(self, tool: UpstreamTool) -> None:
        now = next((each for each in self.tools if each.name == tool.own_name), None)
        if now is None or listed_tool(now).digest != tool.digest:
            raise Fail(
                "authz",
                "UPSTREAM_CHANGED",
                f"{tool.name} of {self._server.name} is not what was approved",
                target=f"mcp/{self._server.name}/{tool.name}",
                hint=f"look at it and approve it again: operable upstream add {self._server.name} …",
            )

    async def _keep(self) -> None:
        try:
            async with (
                self._streams() as streams,
                client_session(streams, "operable-gateway") as session,
            ):
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    await session.initialize()
                    self.tools = await list_tools(session)
                self._session = session
                self._ready.set()
                await self._leave.wait()
        except Exception as error:  # noqa: BLE001 - whatever SDK, network or server do is reported to the callers
            self._problem = innermost(error)
        finally:
            self._problem = self._problem or ConnectionError("the connection was left")
            if self._session is not None:
                self._leave.set()
            self._ready.set()

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[Streams]:
        server = self._server
        env, headers = await asyncio.to_thread(
            lambda: (self._values(server.env), self._values(server.headers))
        )
        if server.url:
            async with mcp_http(server.url, headers) as streams:
                yield streams
        else:
            command = prepare(list(server.argv), env=env, cwd=server.cwd or None)._replace(tree=True)
            async with mcp_process(command, on_stderr=self._note_stderr) as streams:
                yield streams

    def _note_stderr(self, text: str) -> None:
        """Why it ended is there, if anywhere."""
        self._stderr = text.strip().rpartition("\n")[2]

    def _values(self, references: Mapping[str, str]) -> dict[str, str]:
        """What the references mean now."""
        found = {}
        for name, reference in references.items():
            backend, _, location = reference.partition(":")
            value = fetch(backend, location, SecretScope(known=self.known))
            if value is None:
                raise Fail(
                    "config",
                    "SECRET_MISSING",
                    f"{name} of {self._server.name}: nothing is at {reference}",
                    target=reference,
                )
            found[name] = value
        return found

    def _failure(self, error: BaseException) -> Fail:
        error = innermost(error)
        if isinstance(error, Fail):
            return error
        name = self._server.name
        if isinstance(error, TimeoutError):
            return Fail("timeout", "UPSTREAM_NO_ANSWER", f"{name} did not answer in its time", target=name)
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        said += f": {self._stderr}" if self._stderr else ""
        return Fail("io", "UPSTREAM_FAILED", f"{name}: {redact_text(said, self.known)[:_WORDS]}", target=name)


def _is_answer(error: Exception) -> bool:
    """Whether the server itself said so, and goes on."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    return isinstance(error, MCPError) and error.error.code not in (CONNECTION_CLOSED, REQUEST_TIMEOUT)


_LIVE: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, UpstreamConnection]] = WeakKeyDictionary()


def connection(server: UpstreamServer) -> UpstreamConnection:
    """The connection of this loop to a server as it is registered, made if it is not there."""
    live = _LIVE.setdefault(asyncio.get_running_loop(), {})
    key = f"{server.name} {server.digest}"
    known = live.get(key)
    if known is None or known.is_over:
        known = live[key] = UpstreamConnection(server)
        known.task.add_done_callback(lambda _: live.pop(key) if live.get(key) is known else None)
    return known


async def listed_tools(server: UpstreamServer) -> list[Any]:
    """What a server offers now, in its own words."""
    asked = UpstreamConnection(server)
    try:
        await asked.ready()
        return asked.tools
    finally:
        await asked.close()
