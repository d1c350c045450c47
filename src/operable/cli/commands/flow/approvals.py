"""`operable flow approvals`: the approvals of tasks on this machine with the outcome of each, oldest first."""

from __future__ import annotations

from operable.cli.flow.work_events import FlowApproval
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=1000,
    columns=("approval_id", "status", "workflow_id", "task_id", "approver", "expires_at"),
    examples=["flow approvals --status pending", "flow approvals --task deploy --output jsonl"],
)
def approvals(
    *,
    status: Literal["all", "pending", "consumed", "expired", "revoked"] = "all",
    workflow: str | None = None,
    task: str | None = None,
    home: str | None = None,
) -> Iterator[FlowApproval]:
    """List the approvals of tasks.

    status: only those with this status
    workflow: only those of this workflow
    task: only those of this task
    home: where approvals are kept
    """
    from operable.cli.flow.input import answer

    found = answer("approvals-list", "approvals", home=home, status=status, workflowId=workflow, taskId=task)
    for each in found["records"]:
        yield FlowApproval(**each)


COMMAND = approvals
