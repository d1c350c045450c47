"""`operable config approve`: let the configuration of a project count, exactly as it is now.

The plan lists what would begin to count, and its digest: `operable.toml`, `.mcp.json`, and the files of the project that the
commands of hooks and servers name. One byte more or less is something else, and must be approved again.
"""

from __future__ import annotations

from operable.cli.config.events import ConfigApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["config approve --dry-run", "config approve --workspace . --output jsonl"])
def approve(*, workspace: str = ".", digest: str | None = None) -> Iterator[Change]:
    """Approve the configuration of a project as it is now.

    workspace DIR: the project, or a folder in it
    digest DIGEST: what was looked at; refused when it is something else by now
    """
    from operable.cli.config.project import planned_approval

    change = planned_approval(workspace, digest)
    if change is not None:
        yield change


@approve.apply
def keep(changes: list[Change]) -> Iterator[ConfigApproval]:
    from operable.cli.config.project import approved

    yield from map(approved, changes)


COMMAND = approve
