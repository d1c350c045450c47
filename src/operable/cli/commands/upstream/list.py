"""`operable upstream list`: the MCP servers that are offered under the gate. None of them is started."""

from __future__ import annotations

from operable.cli.upstream.events import UpstreamEvent
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(columns=("name", "place", "trusts_hints", "tools"), examples=["upstream list"])
def list_() -> Iterator[UpstreamEvent]:
    """Show the MCP servers that are offered under the gate."""
    from operable.cli.upstream.servers import listed

    yield from listed()


COMMAND = list_
