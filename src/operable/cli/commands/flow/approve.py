"""`operable flow approve`: approve one execution of a task, exactly as it is now.

The approval is bound to the manifest, the command, the folder and every variable that the task would get; after a change of
any of them it is void, and the refusal says which. It is signed with your SSH key; `--signer none` makes an unsigned one.
It is used once, by `operable flow exec` or `run`, within its time.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowApproval
from operable.tool import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@flow_command(
    "approve",
    mutates=True,
    columns=("approval_id", "task_id", "approver", "approver_from", "expires_at"),
    examples=[
        "flow approve workflow.json deploy --reason 'release 7' --dry-run",
        "flow approve workflow.json deploy --by me@example.com --ttl-s 600 --output jsonl",
    ],
)
def approve(call: FlowCall) -> Iterator[Change]:
    """Approve one execution of a task."""
    from operable.cli.flow.approvals import planned_grant

    return planned_grant(call)  # type: ignore[return-value]  # and warnings


@approve.apply
def grant(changes: list[Change[Callable[[], FlowApproval]]]) -> Iterator[FlowApproval]:
    for change in changes:
        yield change.payload()


COMMAND = approve
