"""agentcli.approvals.list: local approvals with what became of each, oldest first."""

from typing import Any

from operable.flow.approve.local_approvals import listed
from operable.flow.method import Defaults, Method
from operable.flow.task_query import caller_of


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    records = listed(
        caller_of(defaults).approvals,
        status=params.get("status") or None,
        workflow_id=params.get("workflowId") or None,
        task_id=params.get("taskId") or None,
    )
    return {"ok": True, "count": len(records), "records": records}


METHOD = Method(
    name="agentcli.approvals.list",
    order=12,
    summary="List local approvals",
    run=_run,
    slow=True,
    params=("status", "workflowId", "taskId"),
)
