"""`operable upstream remove`: offer the tools of an MCP server no longer."""

from __future__ import annotations

from operable.cli.upstream.events import UpstreamRemoved
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(destructive=True, examples=["upstream remove files --dry-run", "upstream remove files --confirm"])
def remove(name: str) -> Iterator[Change]:
    """Offer the tools of an MCP server no longer.

    name: what it is called
    """
    from operable.cli.upstream.servers import removal

    yield removal(name)


@remove.apply
def apply(changes: list[Change]) -> Iterator[UpstreamRemoved]:
    from operable.cli.upstream.servers import removed

    yield from map(removed, changes)


COMMAND = remove
