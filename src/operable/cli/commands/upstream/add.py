"""`operable upstream add`: offer the tools of an MCP server under the gate.

The server is started (or reached), asked for its tools, and ended. The plan shows how it is reached, its tools, what each
counts as, and the digest of all of it. From then on its tools are in the catalog as `mcp/NAME/TOOL`: they can be called
over MCP and HTTP, are judged by the rules and recorded. A tool that is not as it was approved when it is called is
refused (`UPSTREAM_CHANGED`) until the server was added again.

What a server says about its tools is not believed: a person is asked about each call, unless a rule decides. With
`--trust-hints` a tool that it calls read-only only reads.
"""

from __future__ import annotations

from operable.cli.upstream.events import UpstreamEvent
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=60,
    examples=[
        "upstream add files --dry-run -- npx -y @modelcontextprotocol/server-filesystem /data",
        "upstream add tracker --url https://mcp.example.org/mcp --header Authorization=environment:TRACKER_TOKEN",
    ],
)
def add(
    name: str,
    *words: str,
    url: str = "",
    env: list[str] | None = None,
    header: list[str] | None = None,
    trust_hints: bool = False,
) -> Iterator[Change]:
    """Offer the tools of an MCP server under the gate.

    name: what it is called in rules and in the catalog
    words: the command line of a server on stdio
    url URL: the address of a server over streamable HTTP
    env NAME=BACKEND:LOCATION: a variable of its process and where its value is
    header NAME=BACKEND:LOCATION: a header and where its value is
    trust_hints: believe what the server says about its tools
    """
    from operable.cli.upstream.servers import planned

    yield planned(name, words, url=url, env=env or [], headers=header or [], trust_hints=trust_hints)


@add.apply
def keep(changes: list[Change]) -> Iterator[UpstreamEvent]:
    from operable.cli.upstream.servers import kept

    yield from map(kept, changes)


COMMAND = add
