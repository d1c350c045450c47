"""The approval of one execution: is there one, before anything is spent; and using it, at the last moment.

In between lie proof, identity, trust and policy, so that a task which one of them stops leaves its approval as it was.
"""

from collections.abc import Callable
from typing import Any

from operable.flow import local_approvals
from operable.flow.approval_trail import record_use
from operable.flow.contracts import FlowError
from operable.flow.execution import Execution
from operable.flow.plan import approval_policy

Json = dict[str, Any]


class ApprovalGate:
    """`append` writes a record to the audit log."""

    def __init__(
        self, execution: Execution, approval_id: str | None, append: Callable[[Json], object]
    ) -> None:
        self._it = execution
        self._approval_id = approval_id
        self._append = append
        self._policy = approval_policy(execution.selected.task.get("approval"))

    def check(self) -> None:
        """FlowError unless the task needs no approval, or one is there that `use` would use."""
        it = self._it
        if self._policy == "auto-reject":
            message = f'Task "{it.selected.task["id"]}" has approval.policy="auto-reject"; execution refused.'
            raise FlowError("approval_auto_rejected", message)
        if self._policy == "manual":
            local_approvals.require_pending(
                it.caller.approvals,
                it.selected,
                it.bound.binding,
                believing=it.caller.believing(),
                approval_id=self._approval_id,
            )

    def use(self) -> None:
        it = self._it
        if self._policy != "manual":
            return
        it.approval_used = local_approvals.consume(
            it.caller.approvals,
            it.selected,
            it.bound.binding,
            execution_id=it.execution_id,
            believing=it.caller.believing(),
            approval_id=self._approval_id,
            before=self._announce,
        )
        if not it.approval_used["signature_verified"]:
            it.warnings.append(f"approval {it.approval_used['approval_id']} is unsigned")

    def _announce(self, used: Json) -> None:
        """The record that stands for this execution until its end is recorded: if we are killed, for ever."""
        it = self._it
        if it.contract["audit"] != "none":
            self._append({**it.record(), "approval_used": used, "status": "started"})
        else:
            # Nothing of the execution is recorded, but an approval that was used is not usable again.
            record_use(it.caller.place("audit"), it.selected.source, used, it.execution_id, it.timestamp)
