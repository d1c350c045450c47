"""`operable mcp`: which things are served, and on what."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from operable.cli.catalog.events import McpServing, McpToolEvent
from operable.gate.call_gate import CallGate
from operable.kernel.catalogue import unknown
from operable.kernel.errors import Fail
from operable.serve.catalog import Operable, catalog
from operable.serve.mcp_tools import Toolbox
from operable.serve.mcp_transports import listening, serve_http, serve_stdio, token_of
from operable.state.paths import make_state
from operable.tool import Context

_LAST_PORT = 65_535


def toolbox_of(
    workspace: str, only: Sequence[str], kinds: Sequence[str], *, enabled: bool, read_only: bool = False
) -> Toolbox:
    """What can be called; Fail for a name that nothing has."""
    folder = os.path.realpath(workspace)
    everything = list(catalog(folder, only=kinds))
    found = [each for each in everything if each.adapter is not None]
    for name in only:
        if not any(each.name == name for each in found):
            _refuse(name, everything)
    return Toolbox(
        [each for each in found if not only or each.name in only],
        gate=CallGate(),
        workspace=folder,
        enabled=enabled,
        read_only=read_only,
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


def listing(toolbox: Toolbox) -> Iterator[McpToolEvent]:
    """What clients would be offered."""
    for tool in asyncio.run(toolbox.tools()).values():
        yield McpToolEvent(
            name=tool.name,
            kind=tool.operable.kind,  # type: ignore[arg-type]  # one of the five
            operable=tool.operable.name,
            command=tool.action.name,
            description=tool.description,
            read_only=tool.action.read_only,
            destructive=tool.guarded,
            idempotent=tool.action.idempotent,
            enforced_by=tool.action.enforced_by if tool.action.read_only else "",
        )


def serve_client(context: Context, toolbox: Toolbox) -> None:
    """Serve who started us, until it closes its end."""
    context.conclude(message="The client has closed the connection.")
    with contextlib.closing(toolbox.results), contextlib.closing(toolbox.gate):
        asyncio.run(serve_stdio(toolbox, 0, 1))


def serve_clients(context: Context, toolbox: Toolbox, host: str, port: int) -> Iterator[McpServing]:
    """Serve clients that have the token, until a signal."""
    token, path = token_of(make_state("serve"))
    if not 0 <= port <= _LAST_PORT:
        raise Fail(
            "usage", "INVALID_VALUE", f"--port must be at most {_LAST_PORT}, not {port}", target="--port"
        )
    listener = listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}/mcp"
    with contextlib.closing(toolbox.results), contextlib.closing(toolbox.gate), listener:
        if context.machine:
            yield McpServing(url=url, token_file=path)
        else:
            sys.stderr.write(f"operable mcp: {url} (bearer token: {path})\n")
            sys.stderr.flush()
        asyncio.run(serve_http(toolbox, listener, host, token))
    context.conclude(message="Stopped.")
