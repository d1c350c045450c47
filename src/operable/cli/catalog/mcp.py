"""`operable mcp`: which things are served, and on what."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from operable.cli.catalog.events import McpServing, McpToolEvent
from operable.gate.call_gate import CallGate
from operable.kernel.catalogue import unknown
from operable.kernel.errors import Fail
from operable.serve.catalog import Operable, catalog
from operable.serve.mcp import server
from operable.serve.mcp_tools import CommandFilter, McpTool, Toolbox
from operable.serve.mcp_transports import listening, serve_http, serve_stdio, token_of
from operable.state.paths import make_state
from operable.tool import Context

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from operable.serve.session.registry import SessionRegistry

_LAST_PORT = 65_535


class McpOptions(NamedTuple):
    """What is served, and how."""

    workspace: str
    only: Sequence[str] = ()
    kinds: Sequence[str] = ()
    commands: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    by_search: bool = False
    sessions: bool = False
    enabled: bool = False
    read_only: bool = False


def chosen(options: McpOptions) -> list[Operable]:
    """What can be called; Fail for a name that nothing has."""
    everything = list(catalog(os.path.realpath(options.workspace), only=options.kinds))
    found = [each for each in everything if each.adapter is not None]
    for name in options.only:
        if not any(each.name == name for each in found):
            _refuse(name, everything)
    return [each for each in found if not options.only or each.name in options.only]


def _toolbox(options: McpOptions, operables: Sequence[Operable], registry: SessionRegistry | None) -> Toolbox:
    own: list[Operable] = []
    if registry is not None:
        from operable.serve.mcp_sessions import session_tools
        from operable.serve.session.tools import ToolCaller

        own.append(session_tools(registry, ToolCaller(name="mcp")))
    return Toolbox(
        operables,
        gate=CallGate(),
        workspace=os.path.realpath(options.workspace),
        enabled=options.enabled,
        read_only=options.read_only,
        commands=CommandFilter(options.commands, options.without),
        own=own,
    )


def _refuse(name: str, everything: Sequence[Operable]) -> NoReturn:
    """Why nothing of this name can be served: it is in no catalog, or it is and cannot be used now."""
    for each in everything:
        if each.name == name:
            raise Fail(
                "config",
                "NOT_SERVABLE",
                f"{name} cannot be served: {each.health}" + (f", {each.problem}" if each.problem else ""),
                target=name,
                hint=shlex.join(["operable", "catalog", name]),
            )
    raise unknown("operable", name, sorted({each.name for each in everything if each.adapter is not None}))


def listing(options: McpOptions) -> Iterator[McpToolEvent]:
    """What clients would be offered."""
    operables = chosen(options)

    async def offered() -> list[McpTool]:
        async with _registry(options) as registry:
            return list((await _toolbox(options, operables, registry).tools()).values())

    for tool in asyncio.run(offered()):
        yield McpToolEvent(
            name=tool.name,
            kind=tool.operable.kind,  # type: ignore[arg-type]  # one of the six
            operable=tool.operable.name,
            command=tool.action.name,
            description=tool.description,
            read_only=tool.action.read_only,
            destructive=tool.guarded,
            idempotent=tool.action.idempotent,
            enforced_by=tool.action.enforced_by if tool.action.read_only else "",
        )


@contextlib.asynccontextmanager
async def _registry(options: McpOptions) -> AsyncIterator[SessionRegistry | None]:
    """The sessions that clients of this server start; they end with it."""
    if not options.sessions:
        yield None
        return
    from operable.serve.session.registry import SessionRegistry

    registry = SessionRegistry()
    try:
        yield registry
    finally:
        await registry.aclose()


async def _serve(
    options: McpOptions,
    operables: Sequence[Operable],
    serving: Callable[[Server[Any]], Coroutine[Any, Any, None]],
) -> None:
    async with _registry(options) as registry:
        toolbox = _toolbox(options, operables, registry)
        with contextlib.closing(toolbox.results), contextlib.closing(toolbox.gate):
            await serving(server(toolbox, by_search=options.by_search))


def serve_client(context: Context, options: McpOptions) -> None:
    """Serve who started us, until it closes its end."""
    operables = chosen(options)
    context.conclude(message="The client has closed the connection.")
    asyncio.run(_serve(options, operables, lambda made: serve_stdio(made, 0, 1)))


def serve_clients(context: Context, options: McpOptions, host: str, port: int) -> Iterator[McpServing]:
    """Serve clients that have the token, until a signal."""
    operables = chosen(options)
    token, path = token_of(make_state("serve"))
    if not 0 <= port <= _LAST_PORT:
        raise Fail(
            "usage", "INVALID_VALUE", f"--port must be at most {_LAST_PORT}, not {port}", target="--port"
        )
    listener = listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}/mcp"
    with listener:
        if context.machine:
            yield McpServing(url=url, token_file=path)
        else:
            sys.stderr.write(f"operable mcp: {url} (bearer token: {path})\n")
            sys.stderr.flush()
        asyncio.run(_serve(options, operables, lambda made: serve_http(made, listener, host, token)))
    context.conclude(message="Stopped.")
