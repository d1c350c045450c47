"""`operable agent approve`: let a manifest of a project, or an adapter of another author, be used.

A manifest says what is downloaded and run, and one that is in a project came with whatever was cloned; an adapter is code
that is imported into the host. Both are refused until a user has read them and approved exactly this content: the plan
shows the digest, one byte more or less is something else, and then it must be approved again.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=["agent approve mine --dry-run", "agent approve @acme/adapter-parrot --adapter --output jsonl"],
)
def approve(
    name: str, *, adapter: bool = False, digest: str | None = None, workspace: str = "."
) -> Iterator[Change]:
    """Approve a manifest of a project, or a third-party adapter, exactly as it is now.

    name: the agent, the path of its manifest, or the adapter
    adapter: it is an adapter, not an agent
    digest DIGEST: what was looked at; refused when it is something else by now
    workspace DIR: the project
    """
    from operable.cli.agent.approvals import planned_approval

    change = planned_approval(name, workspace, adapter=adapter, digest=digest)
    if change is not None:
        yield change


@approve.apply
def keep(changes: list[Change]) -> Iterator[AgentApproval]:
    from operable.cli.agent.approvals import approved

    yield from map(approved, changes)


COMMAND = approve
