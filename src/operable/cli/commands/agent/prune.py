"""`operable agent prune`: remove sessions that ended long ago, with their logs.

A session that was started with a time of its own (`--keep-for`) goes when that is over, in place of `--older-than`; one that
runs or is pinned never goes. The audit chain of a workspace stays as it is.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentPruned
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,
    timeout=600.0,
    columns=("id", "agent", "bytes"),
    examples=["agent prune --dry-run", "agent prune --older-than 7d --workspace . --confirm"],
)
def prune(*, older_than: str = "30d", workspace: str | None = None) -> Iterator[Change]:
    """Remove sessions that ended long ago, with their logs.

    older_than AGE: how long ago a session ended that has no time of its own: 90s, 30m, 2h or 30d
    workspace DIR: only those of this folder
    """
    from operable.cli.agent.session_control import planned_pruning

    return planned_pruning(older_than, workspace)


@prune.apply
def remove(changes: list[Change]) -> Iterator[AgentPruned]:
    from operable.cli.agent.session_control import pruned

    return pruned(changes)


COMMAND = prune
