"""`operable app update`: bring an application that was added to what its source has now.

The plan shows the difference: files, version, and everything that the application may do then and may not do now. Its data
stays. A package that was signed is only replaced by one of the same signer.
"""

from __future__ import annotations

from operable.cli.packages.events import PackageInstalled
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,  # code from elsewhere: agreed to after it was shown
    examples=["app update todo-app --dry-run"],
    timeout=600.0,
)
def update(name: str, *, revision: str | None = None) -> Iterator[Change]:
    """Update an application that was added.

    name: its slug
    revision REVISION: of a git repository: the branch, tag or commit
    """
    from operable.app.installation import ApplicationPackages
    from operable.cli.packages.installation import planned_update

    change = planned_update(ApplicationPackages(), name, revision)
    if change is not None:
        yield change


@update.apply
def keep(changes: list[Change]) -> Iterator[PackageInstalled]:
    from operable.app.installation import ApplicationPackages
    from operable.cli.packages.installation import updated

    for change in changes:
        yield updated(ApplicationPackages(), change)


COMMAND = update
