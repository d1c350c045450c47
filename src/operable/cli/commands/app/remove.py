"""`operable app remove`: remove an application that was added, with its data."""

from __future__ import annotations

from operable.cli.packages.events import PackageRemoved
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,
    examples=["app remove todo-app --dry-run", "app remove todo-app --confirm"],
)
def remove(name: str) -> Iterator[Change]:
    """Remove an application that was added, with its data.

    name: its slug
    """
    from operable.app.installation import ApplicationPackages
    from operable.cli.packages.installation import planned_removal

    yield planned_removal(ApplicationPackages(), name)


@remove.apply
def keep(changes: list[Change]) -> Iterator[PackageRemoved]:
    from operable.app.installation import ApplicationPackages
    from operable.cli.packages.installation import removed

    for change in changes:
        yield removed(ApplicationPackages(), change)


COMMAND = remove
