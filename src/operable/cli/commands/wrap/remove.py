"""`operable wrap remove`: remove a wrapper that was added."""

from __future__ import annotations

from operable.cli.packages.events import PackageRemoved
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,
    examples=["wrap remove tally --dry-run", "wrap remove tally --confirm"],
)
def remove(name: str) -> Iterator[Change]:
    """Remove a wrapper that was added.

    name: the tool
    """
    from operable.cli.packages.installation import planned_removal
    from operable.wrap.installation import WrapperPackages

    yield planned_removal(WrapperPackages(), name)


@remove.apply
def keep(changes: list[Change]) -> Iterator[PackageRemoved]:
    from operable.cli.packages.installation import removed
    from operable.wrap.installation import WrapperPackages

    for change in changes:
        yield removed(WrapperPackages(), change)


COMMAND = remove
