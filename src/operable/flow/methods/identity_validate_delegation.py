"""agentcli.identity.validateDelegation: whether the chain by which an identity was delegated holds."""

from typing import Any

from operable.flow.method import Defaults, Method
from operable.flow.task_query import TASK_PARAMS, allowance_of, asked_task
from operable.flow.trust.governance import identify


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    selected, bound, caller = asked_task(params, defaults)
    found = identify(selected, bound, caller, allowance_of(params), tolerate_handoff=True)
    found.release()
    return {"ok": True, "delegation": (found.resolved or {}).get("delegation_validation")}


METHOD = Method(
    name="agentcli.identity.validateDelegation",
    order=19,
    summary="Validate the delegation chain of a task's identity",
    run=_run,
    slow=True,
    params=TASK_PARAMS,
)
