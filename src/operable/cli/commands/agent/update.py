"""`operable agent update`: bring an agent that was added to what its source has now.

The plan shows the difference: files, version, and everything that the agent may do then and may not do now.
A package that was signed is only replaced by one of the same signer.
"""

from __future__ import annotations

from operable.cli.packages.events import PackageInstalled
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,  # code from elsewhere: agreed to after it was shown
    examples=["agent update my-agent --dry-run"],
    timeout=600.0,
)
def update(name: str, *, revision: str | None = None) -> Iterator[Change]:
    """Update an agent that was added.

    name: its name
    revision REVISION: of a git repository: the branch, tag or commit
    """
    from operable.cli.packages.installation import planned_update
    from operable.host.launch.installation import AgentPackages

    change = planned_update(AgentPackages(), name, revision)
    if change is not None:
        yield change


@update.apply
def keep(changes: list[Change]) -> Iterator[PackageInstalled]:
    from operable.cli.packages.installation import updated
    from operable.host.launch.installation import AgentPackages

    for change in changes:
        yield updated(AgentPackages(), change)


COMMAND = update
