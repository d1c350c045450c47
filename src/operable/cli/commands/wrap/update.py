"""`operable wrap update`: bring a wrapper that was added to what its source has now.

The plan shows the difference: files, version, and everything that the wrapper may do then and may not do now.
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
    examples=["wrap update tally --dry-run"],
    timeout=600.0,
)
def update(name: str, *, revision: str | None = None) -> Iterator[Change]:
    """Update a wrapper that was added.

    name: the tool
    revision REVISION: of a git repository: the branch, tag or commit
    """
    from operable.cli.packages.installation import planned_update
    from operable.wrap.installation import WrapperPackages

    change = planned_update(WrapperPackages(), name, revision)
    if change is not None:
        yield change


@update.apply
def keep(changes: list[Change]) -> Iterator[PackageInstalled]:
    from operable.cli.packages.installation import updated
    from operable.wrap.installation import WrapperPackages

    for change in changes:
        yield updated(WrapperPackages(), change)


COMMAND = update
