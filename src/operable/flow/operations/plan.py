"""What applying a manifest would change, field by field; nothing is written."""

from typing import Any

from operable.flow.operation import (
    ADOPT_BY,
    ALLOW_NETWORK,
    BACKEND,
    OPTIONAL_MANIFEST,
    PROOF_COMMAND,
    SCHEDULER,
    Defaults,
    Operation,
    Parameter,
    flag,
    present,
)


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import Surroundings
    from operable.flow.scheduler.backends import backend_of, plan
    from operable.flow.scheduler.reconciliation import ApplyOptions, adopt_by_of

    manifest = present(params, "manifest")
    options = ApplyOptions(
        adopt_by=adopt_by_of(params.get("adoptBy")),
        prune=flag(params, "prune"),
        allow_proof_command=flag(params, "allowProofCommand"),
    )
    around = Surroundings(defaults.cwd, defaults.environment, network=flag(params, "allowNetwork"))
    backend = backend_of(params, defaults)
    steps = plan(manifest, backend, options, around)
    return {"ok": True, "target": backend.target, "actions": [step.view() for step in steps]}


OPERATION = Operation(
    method="agentcli.plan",
    order=44,
    summary="What applying a manifest would change",
    run=_run,
    slow=True,
    params=(
        OPTIONAL_MANIFEST,
        BACKEND,
        ADOPT_BY,
        Parameter("prune", "flag", help="also show jobs that the manifest's workflows no longer have"),
        *SCHEDULER,
        PROOF_COMMAND,
        ALLOW_NETWORK._replace(help="let keys be fetched from addresses that the manifest names"),
    ),
)
