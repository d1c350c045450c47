"""`operable agent audit`: the audit chain of a workspace: who decided what, what ran, which secrets were used.

`show` (the default) gives its records, oldest first. `verify` checks the whole chain offline and finds any record that was
edited, removed, moved or added. By the head beside it, or an anchor that you kept elsewhere, it also finds a chain that
was cut short: one `audit_problem` each, then the `audit_verdict`, and exit status 65. The verdict's `head` is the anchor
to keep, `lost` counts what was begun by a process that ended before it could record the end.
"""

from __future__ import annotations

from operable.cli.agent.events import AuditProblem, AuditRecord, AuditVerdict
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=1000,
    columns=(
        *("seq", "ts", "action", "decision", "subject"),
        *("code", "line", "message"),
        *("ok", "records", "lost", "head"),
    ),
    examples=["agent audit", "agent audit verify --workspace . --output jsonl"],
)
def audit(
    action: Literal["show", "verify"] = "show",
    *,
    workspace: str = ".",
    file: str | None = None,
    after: int = -1,
    anchor: str | None = None,
    key: str | None = None,
    context: Context,
) -> Iterator[AuditRecord | AuditProblem | AuditVerdict]:
    """Show or verify the audit chain of a workspace.

    action: what to do with it
    workspace DIR: the folder whose chain it is
    file: this chain instead
    after: show the records behind this number
    anchor: a head that was kept elsewhere, as "SEQ HASH": it must be in the chain
    key FILE: the file of the Ed25519 key that must have signed the chain's head
    """
    from operable.cli.agent.logs import audited, verified

    if action == "verify":
        return verified(context, workspace, file=file, anchor=anchor, key=key)
    return audited(workspace, file=file, after=after)


COMMAND = audit
