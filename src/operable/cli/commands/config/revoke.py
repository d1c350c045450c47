"""`operable config revoke`: let the configuration of a project count no longer, beyond what restricts and informs."""

from __future__ import annotations

from operable.cli.config.events import ConfigApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["config revoke --dry-run", "config revoke --workspace . --output jsonl"])
def revoke(*, workspace: str = ".") -> Iterator[Change]:
    """Forget the approval of a project's configuration.

    workspace DIR: the project, or a folder in it
    """
    from operable.cli.config.project import planned_revocation

    change = planned_revocation(workspace)
    if change is not None:
        yield change


@revoke.apply
def forget(changes: list[Change]) -> Iterator[ConfigApproval]:
    from operable.cli.config.project import revoked

    yield from map(revoked, changes)


COMMAND = revoke
