"""May this task run? A denial is a result, not an error.

Proof, identity and trust come first, as in an execution. The draft's `decision` and the newest peer's `authorization` are
both in the answer; with `--compat 0.5` only the latter.
"""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import OF_TASK, Defaults, Operation


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.manifest.inheritance import merged_contract
    from operable.flow.task_query import allowance_of, asked_task
    from operable.flow.trust.governance import authorize, enforce_trust, identify, prove
    from operable.flow.trust.policy.authorization import PERMIT

    selected, bound, caller = asked_task(params, defaults)
    if not selected.governed:
        raise invalid_argument("Authorization evaluation requires a version 0.2 manifest")
    allowance = allowance_of(params)
    proof = prove(selected, bound, caller, allowance)
    found = identify(selected, bound, caller, allowance, tolerate_handoff=True)
    try:
        enforce_trust(merged_contract(selected.workflow, selected.task), found.trust)
        decision = authorize(selected, bound, found, proof, caller, allowance, required=True)
    finally:
        found.release()
    assert decision is not None  # noqa: S101 - it is required
    if defaults.compat is not None:
        return {"ok": True, "authorization": decision}
    said = {"allowed": decision["decision"] == PERMIT, "reason": decision["reason"]}
    return {"ok": True, "decision": said, "authorization": decision}


OPERATION = Operation(
    method="agentcli.authorization.evaluate",
    order=25,
    verb="authorization evaluate",
    place=24,
    summary="Evaluate the authorization of a task",
    run=_run,
    slow=True,
    params=OF_TASK,
)
