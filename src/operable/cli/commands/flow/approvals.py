"""`operable flow approvals`: the approvals of tasks on this machine with the outcome of each, oldest first."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowApproval

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "approvals-list",
    limit=1000,
    columns=("approval_id", "status", "workflow_id", "task_id", "approver", "expires_at"),
    examples=["flow approvals --status pending", "flow approvals --task deploy --output jsonl"],
)
def approvals(call: FlowCall) -> Iterator[FlowApproval]:
    """List the approvals of tasks."""
    for each in call.answer("approvals")["records"]:
        yield FlowApproval(**each)


COMMAND = approvals
