"""`operable agent remove`: remove an agent that was added."""

from __future__ import annotations

from operable.cli.packages.events import PackageRemoved
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,
    examples=["agent remove my-agent --dry-run", "agent remove my-agent --confirm"],
)
def remove(name: str) -> Iterator[Change]:
    """Remove an agent that was added.

    name: its name
    """
    from operable.cli.packages.installation import planned_removal
    from operable.host.launch.installation import AgentPackages

    yield planned_removal(AgentPackages(), name)


@remove.apply
def keep(changes: list[Change]) -> Iterator[PackageRemoved]:
    from operable.cli.packages.installation import removed
    from operable.host.launch.installation import AgentPackages

    for change in changes:
        yield removed(AgentPackages(), change)


COMMAND = remove
