"""`operable audit list`: the records of a workspace, oldest first: who called what, what was decided by whom, how it ended.

Calls (`call.started`, `call.ended`, `call.denied`) and sessions of agents share one chain.
"""

from __future__ import annotations

from operable.cli.agent.events import AuditRecord
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=1000,
    columns=("seq", "ts", "actor", "action", "decision", "subject"),
    examples=["audit list", "audit list --calls --caller mcp:claude-desktop --output jsonl"],
)
def list_(
    *,
    workspace: str = ".",
    after: int = -1,
    calls: bool = False,
    caller: str | None = None,
) -> Iterator[AuditRecord]:
    """List the records of a workspace.

    workspace DIR: the folder whose chain it is
    after: those behind this number
    calls: only those about calls
    caller: only those of this caller, as KIND:NAME
    """
    from operable.cli.agent.logs import audited

    for record in audited(workspace, file=None, after=after):
        if (not calls or record.action.startswith("call.")) and caller in (None, record.actor):
            yield record


COMMAND = list_
