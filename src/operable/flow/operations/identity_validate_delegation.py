"""Whether the chain by which an identity was delegated holds."""

from typing import Any

from operable.flow.operation import OF_TASK, Defaults, Operation


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.task_query import identified

    resolved = identified(params, defaults).resolved or {}
    return {"ok": True, "delegation": resolved.get("delegation_validation")}


OPERATION = Operation(
    method="agentcli.identity.validateDelegation",
    order=19,
    verb="identity validate-delegation",
    place=18,
    summary="Validate the delegation chain of a task's identity",
    run=_run,
    slow=True,
    params=OF_TASK,
)
