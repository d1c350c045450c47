"""What one authorization provider can do."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import entry, named

    name = named("authorizers", params, "provider", "authorization provider")
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
