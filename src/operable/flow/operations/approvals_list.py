"""Local approvals with the outcome of each, oldest first."""

from typing import Any

from operable.flow.operation import WORKFLOW, Defaults, Operation, Parameter, home


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.approve.local_approvals import listed
    from operable.flow.task_query import caller_of

    records = listed(
        caller_of(defaults).approvals,
        status=params.get("status") or None,
        workflow_id=params.get("workflowId") or None,
        task_id=params.get("taskId") or None,
    )
    return {"ok": True, "count": len(records), "records": records}


OPERATION = Operation(
    method="agentcli.approvals.list",
    order=12,
    verb="approvals list",
    place=29,
    summary="List local approvals",
    run=_run,
    slow=True,
    params=(
        Parameter(
            "status",
            help="only those with this status",
            default="all",
            offered=("all", "pending", "consumed", "expired", "revoked"),
        ),
        WORKFLOW._replace(help="only those of this workflow"),
        Parameter("taskId", option="task", help="only those of this task"),
        home("where approvals are kept"),
    ),
)
