"""agentcli.authorizationProof.schema: the verifier of one method of proof."""

from typing import Any

from operable.flow.canonical import spelled
from operable.flow.contracts import known
from operable.flow.errors import invalid_argument
from operable.flow.method import Defaults, Method, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    name = required(params, "method")
    if name not in known("proofs"):
        raise invalid_argument(f"Unknown verifier method: {spelled(name)}")
    return {"ok": True, "method": name, "verifier": name}


METHOD = Method(
    name="agentcli.authorizationProof.schema",
    order=21,
    summary="Describe an authorization proof method",
    run=_run,
    params=("method",),
)
