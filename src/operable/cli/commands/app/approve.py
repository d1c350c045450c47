"""`operable app approve`: let an application run, exactly as it is now.

A package that came with a project, or is at some path, is only looked at until the user has approved it. The plan shows
what would run, the digest of the content, and which folders of data it leaves out. A change of anything else voids the
approval. A package that wants a shell gets one only with `--shell`. `--revoke` takes an approval back.
"""

from __future__ import annotations

from operable.cli.app.events import AppApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=[
        "app approve todo-app --dry-run",
        "app approve ./apps/todo-app --digest sha256:… --output jsonl",
    ],
)
def approve(
    name: str,
    *,
    shell: bool = False,
    revoke: bool = False,
    digest: str | None = None,
    workspace: str = ".",
) -> Iterator[Change]:
    """Approve an application exactly as it is now.

    name: its slug, or the path of its folder
    shell: let a shell run entry.command, which the package asks for
    revoke: take the approval back
    digest DIGEST: what was looked at; refused when it is something else by now
    workspace DIR: the project
    """
    from operable.cli.app.packages import planned_approval

    change = planned_approval(name, workspace, shell=shell, revoke=revoke, digest=digest)
    if change is not None:
        yield change


@approve.apply
def keep(changes: list[Change]) -> Iterator[AppApproval]:
    from operable.cli.app.packages import settled

    yield from map(settled, changes)


COMMAND = approve
