"""Check the proof of a task now, as its execution would."""

from typing import Any

from operable.flow.operation import OF_TASK, Defaults, Operation


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.task_query import allowance_of, asked_task
    from operable.flow.trust.governance import require_proof

    selected, bound, caller = asked_task(params, defaults)
    return {
        "ok": True,
        "authorization_proof": require_proof(selected, bound, caller, allowance_of(params)),
        "effective_task_hash": bound.task_hash,
        "manifest_digest": bound.manifest_digest,
    }


OPERATION = Operation(
    method="agentcli.authorizationProof.verify",
    order=22,
    verb="authorization-proof verify",
    place=21,
    summary="Verify the authorization proof of a task",
    run=_run,
    slow=True,
    params=OF_TASK,
)
