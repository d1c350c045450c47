"""`operable mcp`: serve the catalog to MCP clients, one tool per command.

Over stdio unless `--http` is given: its input and output are then the protocol and nothing else. Every call is judged by the
rules of `operable policy show`, and recorded in the audit chain of the workspace. Destructive commands, those that need
confirmation, and agents are off unless `--allow-destructive`; then a person is asked about each call of one, at the client
where it can ask, else in `operable inbox list`, unless a rule decides. With `--read-only` only commands are served that
change nothing. A cancelled call ends everything that it started.

With `--output jsonl` it lists the tools that it would serve, since stdout cannot be two protocols; with `--http` it gives
one `mcp_serving` event and serves until it is stopped.
"""

from __future__ import annotations

from operable.cli.catalog.events import McpServing, McpToolEvent
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    runs_tools=True,
    limit=None,
    timeout=None,
    examples=[
        "mcp",
        "mcp --only outline --only git --allow-destructive",
        "mcp --http --port 8765",
    ],
)
def mcp(
    *,
    only: list[str] | None = None,
    kind: list[Literal["agent", "app", "flow", "tool", "wrap"]] | None = None,
    allow_destructive: bool = False,
    read_only: bool = False,
    http: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    workspace: str = ".",
    context: Context,
) -> Iterator[McpToolEvent | McpServing]:
    """Serve the catalog to MCP clients, one tool per command.

    only: serve the tool, wrapper, app, agent or flow of this name, and no others
    kind: serve only things of this kind
    allow_destructive: also offer what cannot be undone, and agents; each call needs an approval
    read_only: offer only what changes nothing
    http: serve streamable HTTP instead of stdio
    host: a loopback address
    port: 0 takes a free one
    workspace: the project whose own things are served, too
    """
    from operable.cli.catalog.mcp import listing, serve_client, serve_clients, toolbox_of

    toolbox = toolbox_of(workspace, only or [], kind or [], enabled=allow_destructive, read_only=read_only)
    if http:
        yield from serve_clients(context, toolbox, host, port)
    elif context.machine:
        yield from listing(toolbox)
    else:
        serve_client(context, toolbox)


COMMAND = mcp
