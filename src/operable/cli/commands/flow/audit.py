"""`operable flow audit`: the records of executions, oldest first; or whether they have been changed.

`show` (the default) gives the records. `verify` checks every seal of the log and finds what was edited, removed, moved or
cut short: one `flow_audit_problem` each, then the `flow_audit_verdict`, and exit status 65. The verdict's `head` is the
anchor to keep elsewhere, `lost` counts the executions whose process ended before it could record how they ended.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowAuditProblem, FlowAuditVerdict, FlowRecord
from operable.tool import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "audit",
    limit=None,
    columns=(
        *("timestamp", "task", "outcome", "execution_id"),
        *("code", "line", "message"),
        *("ok", "records", "lost", "head"),
    ),
    examples=["flow audit --newest 20", "flow audit verify --output jsonl"],
)
def audit(call: FlowCall, context: Context) -> Iterator[FlowRecord | FlowAuditProblem | FlowAuditVerdict]:
    """Show or verify the audit log of executions."""
    from operable.cli.flow.records import records, verdict

    if call["action"] == "verify":
        return verdict(call.caller(), context, call["anchor"], call["key"])
    return records(call.caller(), call["limit"], people=not context.machine)  # type: ignore[return-value]  # and warnings


COMMAND = audit
