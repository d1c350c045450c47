"""`operable agent revoke`: take back the approval of a manifest or of an adapter. Sessions that run are not touched."""

from __future__ import annotations

from operable.cli.agent.events import AgentApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=["agent revoke mine", "agent revoke @acme/adapter-parrot --adapter --output jsonl"],
)
def revoke(name: str, *, adapter: bool = False, workspace: str = ".") -> Iterator[Change]:
    """Take back an approval.

    name: the agent, the path of its manifest, or the adapter
    adapter: it is an adapter, not an agent
    workspace DIR: the project
    """
    from operable.cli.agent.approvals import planned_revocation

    change = planned_revocation(name, workspace, adapter=adapter)
    if change is not None:
        yield change


@revoke.apply
def forget(changes: list[Change]) -> Iterator[AgentApproval]:
    from operable.cli.agent.approvals import revoked

    yield from map(revoked, changes)


COMMAND = revoke
