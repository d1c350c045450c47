"""What applying a manifest would change, field by field; nothing is written."""

from typing import Any

from operable.flow.operation import (
    ALLOW_NETWORK,
    MANIFEST,
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
        MANIFEST,
        *SCHEDULER,
        Parameter("adoptBy", choices=("id", "name")),
        Parameter("allowProofCommand", "flag"),
        ALLOW_NETWORK,
        Parameter("prune", "flag"),
        Parameter("target"),
    ),
)
