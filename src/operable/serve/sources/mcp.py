"""Upstream MCP servers (`operable upstream add`): each is one operable, with a command per approved tool.

Nothing is started to list them: what the user approved is listed, and a tool that is different when it is called is
refused. Whether a tool only reads is its server's word, which counts only if the user said so (`--trust-hints`).
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.host.upstream.adapter import UpstreamAdapter
from operable.host.upstream.registration import UpstreamServers
from operable.serve.catalog import Operable, OperableSource


def find(workspace: str) -> Iterator[Operable]:
    """Every registered server; none of them belongs to a workspace."""
    del workspace
    for server in UpstreamServers().all():
        yield Operable(
            "mcp",
            server.name,
            description=f"the MCP server {server.name}",
            place=server.url or server.argv[0],
            actions=tuple(map(server.action, server.tools)),
            adapter=UpstreamAdapter(server),
        )


SOURCE = OperableSource("mcp", "upstream MCP servers", find)
