"""MCP servers that a host adds to a conversation, and their tools as abilities.

The official SDK is asynchronous and expensive to load. So it has its own thread with an event loop, which starts with
the first server. Each server is one task there: it connects (all of them at once, thirty seconds each),
lists its tools, and then keeps the connection for calls that come from the rounds of the agent. An unavailable server
is one `error` event, and the conversation goes on without it. What a server is given (environment, headers) is
never shown.

Names are given out in the order in which the servers were added, however fast each answers: a server offers its tools
only after the one before it has offered or failed. Permission never depends on the name (`Ability.permission`).
"""

import asyncio
import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from operable.agent.loop.cancellation import Cancellation
from operable.agent.session.history import ImageBlock
from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.kernel.errors import Fail
from operable.kernel.extras import ExtraMissingError
from operable.kernel.redact import Known, redact_text
from operable.proc.environment import secret_values
from operable.proc.spawn import prepare
from operable.project.schema import McpServer
from operable.project.settings import fill, filled
from operable.run.mcp import Streams, client_session, innermost, list_tools, mcp_http, mcp_process
from operable.wire import json_stream as protocol
from operable.wire.json_stream import AddMcpServerFrame

CONNECT_TIMEOUT = 30.0
_CALL_TIMEOUT = 600.0
_CLOSE_TIMEOUT = 3.0
_CAP = 50_000
# What every provider takes as the name of a tool: 64 of these characters. Some are left for a number.
_LONGEST_NAME = 56
_OWN_NAME = re.compile(r"(?!(?i:mcp__))[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class McpServers:
    """The servers of one conversation. `toolbox` grows as they answer."""

    def __init__(
        self,
        toolbox: MutableMapping[str, Ability],
        emit: Callable[[protocol.Event], None],
        workspace: str,
        known: Known | None = None,
    ) -> None:
        self._known = known if known is not None else Known()  # learns what servers are given
        self._toolbox = toolbox
        self._emit = emit
        self._workspace = workspace
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._names: set[str] = set()  # of servers that connect or are connected
        self.taken: frozenset[str] = frozenset()  # names of other servers of the conversation
        self._turn: asyncio.Event | None = (
            None  # set when the server that was added last has offered its tools
        )
        self._connecting = 0
        self._changed = threading.Condition()

    def add(self, server: protocol.AddMcpServerFrame) -> None:
        """Begin to connect; Fail when the command itself is wrong. Events report the rest."""
        check_server(server)
        self._known.add(*secret_values({**(server.env or {}), **(server.headers or {})}, given=True))
        with self._changed:
            if server.name in self._names or server.name in self.taken:
                raise Fail(
                    "usage",
                    "MCP_SERVER_TWICE",
                    f"AddMcpServer '{server.name[:200]}': a server with this name already exists",
                    hint="give each server a name of its own",
                )
            self._names.add(server.name)
            self._connecting += 1
        loop = self._started()
        loop.call_soon_threadsafe(self._begin, server)

    def settle(self, cancellation: Cancellation) -> None:
        """Wait until the servers that were added have answered or failed, or the run is cancelled."""
        with cancellation.waking(self._notify), self._changed:
            self._changed.wait_for(lambda: not self._connecting or cancellation.cancelled)

    def close(self) -> None:
        """Leave them all; servers that are processes of ours end."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(_CLOSE_TIMEOUT)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._serve, daemon=True, name="mcp")
            self._thread.start()
        return self._loop

    def _serve(self) -> None:
        assert self._loop is not None  # noqa: S101 - see _started
        asyncio.set_event_loop(self._loop)
        with contextlib.suppress(ImportError):  # each server will say so
            # Before anything is timed: loading the SDK takes a second of our own, which no server has to answer for.
            import mcp.client.streamable_http  # noqa: F401
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _begin(self, server: protocol.AddMcpServerFrame) -> None:
        assert self._loop is not None  # noqa: S101 - we run in it
        before, self._turn = self._turn, asyncio.Event()
        self._tasks.append(self._loop.create_task(self._keep(server, before, self._turn)))

    def _stop(self) -> None:
        loop = self._loop
        assert loop is not None  # noqa: S101 - we run in it
        for task in self._tasks:
            task.cancel()

        async def end() -> None:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            loop.stop()

        self._ending = loop.create_task(end())

    async def _keep(
        self, server: protocol.AddMcpServerFrame, before: asyncio.Event | None, offered: asyncio.Event
    ) -> None:
        """One server, from its connection to the end of the conversation."""
        leave = asyncio.Event()
        connected = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    session = await self._connected(server, stack)
                    tools = await list_tools(session)
                if before is not None:
                    await before.wait()  # no longer than a connection may take: all began before us
                names = self._offer(server.name, tools, session)
                offered.set()
                connected = True
                self._emit(protocol.McpReadyFrame(name=server.name, tools=names))
                self._settled()
                await leave.wait()
        except TimeoutError:
            self._fail(server, f"no answer within {CONNECT_TIMEOUT:g} seconds")
        except Exception as error:  # noqa: BLE001 - whatever SDK, network or server do: one event, and the rest goes on
            self._fail(server, _explained(error))
        finally:
            offered.set()
            if not connected:
                self._settled()

    async def _connected(self, server: protocol.AddMcpServerFrame, stack: contextlib.AsyncExitStack) -> Any:
        streams = await stack.enter_async_context(transport(server, self._workspace))
        session = await stack.enter_async_context(client_session(streams, "operable-agent"))
        await session.initialize()
        return session

    def _settled(self) -> None:
        with self._changed:
            self._connecting -= 1
            self._changed.notify_all()

    def _fail(self, server: protocol.AddMcpServerFrame, reason: str) -> None:
        """Report it; from then on the host may give the name to another server."""
        with self._changed:
            self._names.discard(server.name)
        message = redact_text(f"MCP server {server.name}: {reason}", self._known)
        self._emit(protocol.ErrorFrame(error=protocol.FrameProblem(code="config_error", message=message)))

    def _offer(self, server: str, tools: list[Any], session: Any) -> tuple[str, ...]:
        """Add them to the toolbox, under names that are free; which."""
        names: list[str] = []
        listed: set[str] = set()
        for tool in tools:
            if tool.name in listed:
                continue  # a second tool of the same name could never be distinguished from the first
            listed.add(tool.name)
            name = self._free_name(server, tool.name)
            self._toolbox[name] = Ability(
                name=name,
                category="mcp",
                description=tool.description or tool.title or tool.name,
                schema=tool.input_schema or {"type": "object"},
                run=partial(self._call, session, tool.name),
                describe=partial(_described, server, tool.name),
                cap=_CAP,
                server=server,
                server_tool=tool.name,
            )
            names.append(name)
        return tuple(names)

    def _free_name(self, server: str, tool: str) -> str:
        """The tool's own name, unless another tool has it in any case of letters, it looks like that of a tool of some
        server, or models cannot be given it (one such name and a provider refuses every message).
        """
        taken = {
            name.casefold() for ability in self._toolbox.values() for name in (ability.name, *ability.aliases)
        }
        own = [tool] if _OWN_NAME.fullmatch(tool) else []
        joined = _NOT_IN_NAMES.sub("_", f"mcp__{server}_{tool}")[:_LONGEST_NAME]
        numbered = (f"{joined}_{number}" for number in itertools.count(2))
        wanted = itertools.chain(own, [joined], numbered)
        return next(name for name in wanted if name.casefold() not in taken)

    def _call(self, session: Any, tool: str, arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
        """In a tool's thread: the call itself is made in the loop's."""
        assert self._loop is not None  # noqa: S101 - a session has been made
        work: Coroutine[Any, Any, Any] = session.call_tool(
            tool, dict(arguments), read_timeout_seconds=_CALL_TIMEOUT
        )
        future = asyncio.run_coroutine_threadsafe(work, self._loop)

        def hang_up() -> None:
            future.cancel()

        with scene.cancellation.waking(hang_up):
            try:
                return _outcome(future.result(_CALL_TIMEOUT))
            except (Exception, CancelledError) as error:  # noqa: BLE001 - the model sees what a server does wrong
                return AbilityOutcome(_explained(error), ok=False)


def _described(server: str, tool: str, _arguments: Mapping[str, Any]) -> str:
    return f"Call {tool} of the MCP server {server}"


def _outcome(result: Any) -> AbilityOutcome:
    texts, picture = [], None
    for block in result.content:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image":
                picture = ImageBlock(block.mime_type, block.data)
                texts.append(f"(image, {block.mime_type})")
            case "resource":
                texts.append(getattr(block.resource, "text", None) or f"(resource {block.resource.uri})")
            case _:
                texts.append(f"({block.type})")
    return AbilityOutcome("\n".join(texts), ok=not result.is_error, image=picture)


def _explained(error: BaseException) -> str:
    error = innermost(error)
    if isinstance(error, ExtraMissingError):
        return f"{error}; {error.hint}"
    return str(error) or type(error).__name__


# How MCP servers are reached: a process of ours on its stdin and stdout, or a remote HTTP server.
#
# HTTP is the official SDK's; processes are started by `operable.run.mcp`.


def check_server(server: AddMcpServerFrame) -> None:
    """Fail for what cannot be meant."""
    if server.transport not in ("stdio", "sse", "streamable-http", "streamable_http"):
        raise _refused(server, "transport is stdio, sse or streamable-http")
    if server.transport == "stdio" and not server.command:
        raise _refused(server, "a stdio server needs a command")
    if server.transport != "stdio" and not (server.url or "").startswith(("http://", "https://")):
        raise _refused(server, f"a server over {server.transport} needs a url with http or https")
    if not server.name or "/" in server.name:
        raise _refused(
            server, "a server needs a name, without a slash (SERVER/TOOL is how --allow names its tools)"
        )


def configured_frame(name: str, server: McpServer, environment: Mapping[str, str]) -> AddMcpServerFrame:
    """A server of the configuration with its variables filled in. Raises KeyError with one that is not set."""
    return AddMcpServerFrame(
        name=name,
        transport=server.reached_by,
        command=server.command,
        args=tuple(fill(word, environment) for word in server.args) or None,
        env=dict(filled(server.env, environment)) or None,
        url=None if server.url is None else fill(server.url, environment),
        headers=dict(filled(server.headers, environment)) or None,
    )


def _refused(server: AddMcpServerFrame, problem: str) -> Fail:
    return Fail("usage", "MCP_SERVER_INVALID", f"AddMcpServer '{server.name[:200]}': {problem}")


def transport(server: AddMcpServerFrame, workspace: str) -> AbstractAsyncContextManager[Streams]:
    """The connection of a server that was checked."""
    if server.transport == "stdio":
        argv = [server.command or "", *(server.args or ())]
        # No more of our environment than every child gets, and what the host has given for this server.
        return mcp_process(prepare(argv, env=server.env, cwd=workspace)._replace(tree=True))
    if server.transport == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url or "", headers=dict(server.headers or {}))
    return mcp_http(server.url or "", dict(server.headers or {}))
