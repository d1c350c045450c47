"""The methods of one evidence provider."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import entry, named

    name = named("evidences", params, "provider", "evidence provider")
    return {"ok": True, "provider": name, "methods": list(entry("evidences", name).methods)}


OPERATION = Operation(
    method="agentcli.evidence.schema",
    order=27,
    verb="evidence schema",
    place=26,
    summary="Describe an evidence provider",
    run=_run,
    params=(Parameter("provider", "word", shown="<provider>"),),
)
