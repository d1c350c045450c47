"""What one identity provider can do."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.canonical import spelled
    from operable.flow.contracts import entry, known

    name = required(params, "provider")
    if name not in known("identities"):
        raise invalid_argument(f"Unknown identity provider: {spelled(name)}")
    return {"ok": True, "provider": name, "capabilities": dict(entry("identities", name).capabilities)}


OPERATION = Operation(
    method="agentcli.identity.schema",
    order=17,
    verb="identity schema",
    place=16,
    summary="Describe an identity provider",
    run=_run,
    params=(Parameter("provider", "word", shown="<provider>"),),
)
