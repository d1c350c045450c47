"""agentcli.authorizationProof.verify: check the proof of a task now, as its execution would."""

from typing import Any

from operable.flow.method import Defaults, Method
from operable.flow.task_query import TASK_PARAMS, allowance_of, asked_task
from operable.flow.trust.governance import require_proof


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    selected, bound, caller = asked_task(params, defaults)
    return {
        "ok": True,
        "authorization_proof": require_proof(selected, bound, caller, allowance_of(params)),
        "effective_task_hash": bound.task_hash,
        "manifest_digest": bound.manifest_digest,
    }


METHOD = Method(
    name="agentcli.authorizationProof.verify",
    order=22,
    summary="Verify the authorization proof of a task",
    run=_run,
    slow=True,
    params=TASK_PARAMS,
)
