"""Registering, listing and removing upstream MCP servers."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from operable.cli.upstream.events import UpstreamEvent, UpstreamRemoved
from operable.host.upstream.registration import (
    UpstreamServer,
    UpstreamServers,
    approved_tools,
    check_server,
    find_server,
)
from operable.kernel.errors import Fail
from operable.tool import Change


def planned(
    name: str,
    command: Sequence[str],
    *,
    url: str,
    env: Sequence[str],
    headers: Sequence[str],
    trust_hints: bool,
) -> Change:
    """Ask the server what it offers; what would be approved."""
    from operable.host.upstream.connection import listed_tools

    words = list(command)
    if words and os.sep in words[0]:  # it is started from other folders later
        words[0] = os.path.abspath(words[0])
    server = UpstreamServer(
        name,
        tuple(words),
        os.getcwd() if words else "",
        url,
        _references(env, "--env"),
        _references(headers, "--header"),
        trust_hints,
    )
    check_server(server)
    tools = approved_tools(asyncio.run(listed_tools(server)))
    server = msgspec.structs.replace(server, tools=tools)
    return Change(
        "register",
        name,
        place=_place(server),
        digest=server.digest,
        tools={tool.name: server.action(tool).risk for tool in tools},
        server=msgspec.to_builtins(server),
    )


def kept(change: Change) -> UpstreamEvent:
    server = msgspec.convert(change["server"], UpstreamServer)
    UpstreamServers().keep(server)
    return _shown(server)


def listed() -> Iterator[UpstreamEvent]:
    yield from map(_shown, UpstreamServers().all())


def removal(name: str) -> Change:
    find_server(name)
    return Change("remove", name)


def removed(change: Change) -> UpstreamRemoved:
    UpstreamServers().remove(change.target)
    return UpstreamRemoved(id=f"mcp/{change.target}", name=change.target)


def _references(given: Sequence[str], option: str) -> dict[str, str]:
    found = {}
    for each in given:
        name, equals, reference = each.partition("=")
        if not equals:
            raise Fail("usage", "INVALID_VALUE", f"{option} takes NAME=BACKEND:LOCATION", target=option)
        found[name] = reference
    return found


def _place(server: UpstreamServer) -> str:
    return server.url or shlex.join(server.argv)


def _shown(server: UpstreamServer) -> UpstreamEvent:
    return UpstreamEvent(
        name=server.name,
        place=_place(server),
        tools=[tool.name for tool in server.tools],
        trusts_hints=server.trusts_hints,
        secrets=[*server.env, *server.headers],
        digest=server.digest,
    )
