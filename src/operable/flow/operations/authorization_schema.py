"""What one authorization provider can do."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.canonical import spelled
    from operable.flow.contracts import entry, known

    name = required(params, "provider")
    if name not in known("authorizers"):
        raise invalid_argument(f"Unknown authorization provider: {spelled(name)}")
    return {"ok": True, "provider": name, "capabilities": dict(entry("authorizers", name).capabilities)}


OPERATION = Operation(
    method="agentcli.authorization.schema",
    order=24,
    verb="authorization schema",
    place=23,
    summary="Describe an authorization provider",
    run=_run,
    params=(Parameter("provider", "word", shown="<provider>"),),
)
