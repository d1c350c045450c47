"""The methods of one evidence provider."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.canonical import spelled
    from operable.flow.contracts import entry, known

    name = required(params, "provider")
    if name not in known("evidences"):
        raise invalid_argument(f"Unknown evidence provider: {spelled(name)}")
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
