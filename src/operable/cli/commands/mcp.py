"""`operable mcp`: serve the catalog to MCP clients, one tool per command.

Over stdio unless `--http` is given: its input and output are then the protocol and nothing else. Every call is judged by the
rules of `operable policy show`, and recorded in the audit chain of the workspace. Destructive commands, those that need
confirmation, and agents are off unless `--allow-destructive`; then a person is asked about each call of one, at the client
where it can ask, else in `operable inbox list`, unless a rule decides. With `--read-only` only commands are served that
change nothing. A cancelled call ends everything that it started.

`--tools search` offers three tools in place of one per command: `search`, `describe` and `call`, for catalogs that are
larger than what a model should be given at once. `--sessions` also offers tools that start, prompt, follow and end
sessions of agents; the sessions end with this server. `--command` and `--without` choose by patterns of `KIND/NAME/ACTION`,
as rules do.

With `--output jsonl` it lists the tools that it would serve, since stdout cannot be two protocols; with `--http` it gives
one `mcp_serving` event and serves until it is stopped.
"""

from __future__ import annotations

from operable.cli.catalog.events import McpServing, McpToolEvent
from operable.kernel.extras import require
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
        "mcp --command 'wrap/git/*' --without wrap/git/push",
        "mcp --tools search --sessions",
        "mcp --http --port 8765",
    ],
)
def mcp(
    *,
    only: list[str] | None = None,
    kind: list[Literal["agent", "app", "flow", "mcp", "tool", "wrap"]] | None = None,
    command: list[str] | None = None,
    without: list[str] | None = None,
    tools: Literal["all", "search"] = "all",
    sessions: bool = False,
    allow_destructive: bool = False,
    read_only: bool = False,
    http: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    workspace: str = ".",
    context: Context,
) -> Iterator[McpToolEvent | McpServing]:
    """Serve the catalog to MCP clients, one tool per command.

    only NAME: serve the tool, wrapper, app, agent or flow of this name, and no others
    kind: serve only things of this kind
    command: serve only commands that this pattern of KIND/NAME/ACTION matches
    without PATTERN: do not serve commands that this pattern matches
    tools: one tool per command, or search, describe and call
    sessions: also offer tools for sessions of agents
    allow_destructive: also offer what cannot be undone, and agents; each call needs an approval
    read_only: offer only what changes nothing
    http: serve streamable HTTP instead of stdio
    host: a loopback address
    port: 0 takes a free one
    workspace DIR: the project whose own things are served, too
    """
    require("mcp")
    from operable.cli.catalog.mcp import McpOptions, listing, serve_client, serve_clients

    options = McpOptions(
        workspace,
        only or [],
        kind or [],
        tuple(command or ()),
        tuple(without or ()),
        tools == "search",
        sessions,
        allow_destructive,
        read_only,
    )
    if http:
        yield from serve_clients(context, options, host, port)
    elif context.machine:
        yield from listing(options)
    else:
        serve_client(context, options)


COMMAND = mcp
