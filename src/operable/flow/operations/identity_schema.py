"""What one identity provider can do."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import entry, named

    name = named("identities", params, "provider", "identity provider")
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
