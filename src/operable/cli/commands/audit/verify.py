"""`operable audit verify`: check the whole audit chain of a workspace, offline; exit status 65 if it was changed.

Finds any record that was edited, removed, moved or added, and by the head beside it, or an anchor that you kept elsewhere, a
chain that was cut short. The verdict's `lost` counts what was begun by a process that ended before it recorded the end.
"""

from __future__ import annotations

from operable.cli.agent.events import AuditProblem, AuditVerdict
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=1000,
    columns=("code", "line", "message", "ok", "records", "lost", "head"),
    examples=["audit verify", "audit verify --workspace . --output jsonl"],
)
def verify(
    *, workspace: str = ".", anchor: str | None = None, key: str | None = None, context: Context
) -> Iterator[AuditProblem | AuditVerdict]:
    """Verify the audit chain of a workspace.

    workspace DIR: the folder whose chain it is
    anchor: a head that was kept elsewhere, as "SEQ HASH": it must be in the chain
    key FILE: the file of the Ed25519 key that must have signed the chain's head
    """
    from operable.cli.agent.logs import verified

    return verified(context, workspace, file=None, anchor=anchor, key=key)


COMMAND = verify
