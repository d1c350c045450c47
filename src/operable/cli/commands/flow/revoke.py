"""`operable flow revoke`: take back an approval that was not used yet."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowApproval
from operable.tool import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@flow_command(
    "approvals-revoke",
    mutates=True,
    columns=("approval_id", "status"),
    examples=["flow revoke 8f14e45fceea167a5a36dedd4bea2543 --reason 'wrong branch'"],
)
def revoke(call: FlowCall) -> Iterator[Change[Any]]:
    """Take back an approval."""
    from operable.cli.flow.approvals import planned_revocation

    change = planned_revocation(call)
    if change is not None:
        yield change


@revoke.apply
def take_back(changes: list[Change[Callable[[], FlowApproval]]]) -> Iterator[FlowApproval]:
    for change in changes:
        yield change.payload()


COMMAND = revoke
