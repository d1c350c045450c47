"""The verifier of one method of proof."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import named

    name = named("proofs", params, "method", "verifier method")
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
