"""`operable mcp`: serve the catalog to MCP clients, one tool per command.

Over stdio unless `--http` is given: its input and output are then the protocol and nothing else. Destructive commands, and
those that need confirmation, are off unless `--allow-destructive`; then each call of one needs a yes, from the person at
the client where it can ask one, else as the argument `confirm`. A cancelled call ends everything that it started.
"""

from __future__ import annotations

from operable.tool import Relay, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


@command(
    runs_tools=True,
    limit=None,
    timeout=None,
    has_results=False,
    examples=[
        "mcp",
        "mcp --only outline --only git --allow-destructive",
        "mcp --http --port 8765",
    ],
)
def mcp(
    *,
    only: list[str] | None = None,
    kind: list[Literal["app", "tool", "wrap"]] | None = None,
    allow_destructive: bool = False,
    http: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    workspace: str = ".",
    relay: Relay,
) -> None:
    """Serve the catalog to MCP clients, one tool per command.

    only: serve the tool, wrapper or app of this name, and no others
    kind: serve only things of this kind
    allow_destructive: also offer what cannot be undone; each call needs a yes
    http: serve streamable HTTP instead of stdio
    host: a loopback address
    port: 0 takes a free one
    workspace: the project whose own things are served, too
    """
    from operable.cli.serving import serve

    serve(
        relay,
        only=only or [],
        kinds=kind or [],
        enabled=allow_destructive,
        address=(host, port) if http else None,
        workspace=workspace,
    )


COMMAND = mcp
