"""agentcli.evidence.schema: the methods of one evidence provider."""

from typing import Any

from operable.flow.canonical import spelled
from operable.flow.contracts import entry, known
from operable.flow.errors import invalid_argument
from operable.flow.method import Defaults, Method, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    name = required(params, "provider")
    if name not in known("evidences"):
        raise invalid_argument(f"Unknown evidence provider: {spelled(name)}")
    return {"ok": True, "provider": name, "methods": list(entry("evidences", name).methods)}


METHOD = Method(
    name="agentcli.evidence.schema",
    order=27,
    summary="Describe an evidence provider",
    run=_run,
    params=("provider",),
)
