"""`operable flow audit`: the records of executions, oldest first; or whether they have been changed.

`show` (the default) gives the records. `verify` checks every seal of the log and finds what was edited, removed, moved or
cut short: one `flow_audit_problem` each, then the `flow_audit_verdict`, and exit status 65. The verdict's `head` is the
anchor to keep elsewhere, `lost` counts the executions whose process ended before it could record how they ended.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowAuditProblem, FlowAuditVerdict, FlowRecord
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    columns=(
        *("timestamp", "task", "outcome", "execution_id"),
        *("code", "line", "message"),
        *("ok", "records", "lost", "head"),
    ),
    examples=["flow audit --newest 20", "flow audit verify --output jsonl"],
)
def audit(
    action: Literal["show", "verify"] = "show",
    *,
    newest: int | None = None,
    anchor: str | None = None,
    key: str | None = None,
    home: str | None = None,
    context: Context,
) -> Iterator[FlowRecord | FlowAuditProblem | FlowAuditVerdict]:
    """Show or verify the audit log of executions.

    action: what to do with it
    newest: only so many of the newest records
    anchor: a head that was kept elsewhere, as "SEQ HASH": it must be in the log
    key: the file of the Ed25519 key that must have signed the log's head
    home: where the audit is kept
    """
    from operable.cli.flow import work
    from operable.cli.flow.records import records, verdict

    by = work.caller(home)
    if action == "verify":
        return verdict(by, context, anchor, key)
    return records(by, work.positive("--newest", newest))  # type: ignore[return-value]  # and warnings


COMMAND = audit
