"""The approval of one execution: is there one, before anything is spent; and using it, at the last moment.

In between are proof, identity, trust and policy, so that a task which one of them stops leaves its approval as it was.

Files are read by their paths and run by their paths: between the two another process can exchange them. That is noticed, not
prevented. A program or script that was touched from the last look to the end of the task makes the execution a failure.
"""

from typing import Any

from operable.flow.approve import local_approvals, task_content
from operable.flow.approve.audit_trail import record_use
from operable.flow.compile.plan import approval_policy
from operable.flow.errors import FlowError
from operable.flow.run.caller import read_content, unbound_warnings
from operable.flow.run.execution import Execution

Json = dict[str, Any]


class ApprovalGate:
    """The approval that one execution needs, if it needs one."""

    def __init__(self, execution: Execution, approval_id: str | None) -> None:
        self._it = execution
        self._approval_id = approval_id
        self._policy = approval_policy(execution.selected.task.get("approval"))
        self._programs: set[str] = set()
        self._marks: dict[str, task_content.Mark] = {}

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
                content=it.content(),
                believing=it.caller.believing(),
                approval_id=self._approval_id,
            )

    def use(self) -> None:
        it = self._it
        if self._policy != "manual":
            return
        self._marks = task_content.marks(it.content())  # before the look that counts
        found = read_content(it.selected, it.bound, it.caller)
        self._programs = task_content.programs(found.digests)
        it.approval_used = local_approvals.consume(
            it.caller.approvals,
            it.selected,
            it.bound.binding,
            execution_id=it.execution_id,
            content=found.digests,  # again: minutes may have passed since it was looked at
            believing=it.caller.believing(),
            approval_id=self._approval_id,
            before=self._announce,
        )
        it.warnings += local_approvals.scope_warnings(it.selected.task, it.caller.believing())
        it.warnings += unbound_warnings(found.unbound)
        if not it.approval_used["signature_verified"]:
            it.warnings.append(f"approval {it.approval_used['approval_id']} is unsigned")

    def require_untouched(self) -> None:
        """FlowError when a program or script of the task was touched since its approval was used."""
        now = task_content.marks(self._programs)
        changed = sorted(path for path in self._programs if now.get(path) != self._marks.get(path, ()))
        if changed:
            message = f"changed while the task ran, so that perhaps not what was approved ran: {', '.join(changed[:10])}"
            raise FlowError("content_changed", message, changed=changed, ran=True)

    def _announce(self, used: Json) -> None:
        """An approval whose use is in the audit log is used, whatever the file of approvals says by then."""
        it = self._it
        record_use(it.caller.place("audit"), it.selected.source, used, it.execution_id, it.timestamp)
