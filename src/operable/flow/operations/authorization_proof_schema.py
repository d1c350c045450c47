"""The verifier of one method of proof."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.canonical import spelled
    from operable.flow.contracts import known

    name = required(params, "method")
    if name not in known("proofs"):
        raise invalid_argument(f"Unknown verifier method: {spelled(name)}")
    return {"ok": True, "method": name, "verifier": name}


OPERATION = Operation(
    method="agentcli.authorizationProof.schema",
    order=21,
    verb="authorization-proof schema",
    place=20,
    summary="Describe an authorization proof method",
    run=_run,
    params=(Parameter("method", "word", shown="<method>"),),
)
