"""`operable flow revoke`: take back an approval that was not used yet."""

from __future__ import annotations

from operable.cli.flow.work_events import FlowApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@command(
    mutates=True,
    columns=("approval_id", "status"),
    examples=["flow revoke 8f14e45fceea167a5a36dedd4bea2543 --reason 'wrong branch'"],
)
def revoke(
    approval: str, *, by: str | None = None, reason: str | None = None, home: str | None = None
) -> Iterator[Change[Any]]:
    """Take back an approval.

    approval: its id, as `operable flow approvals` shows it
    by: who revokes it; by default your account on this machine, whatever USER and HOSTNAME say
    reason: why
    home: where approvals are kept
    """
    from operable.cli.flow import work
    from operable.cli.flow.approvals import planned_revocation

    change = planned_revocation(approval, work.caller(home), by=by, reason=reason)
    if change is not None:
        yield change


@revoke.apply
def take_back(changes: list[Change[Callable[[], FlowApproval]]]) -> Iterator[FlowApproval]:
    for change in changes:
        yield change.payload()


COMMAND = revoke
