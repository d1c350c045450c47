"""agentcli.authorization.schema: what one authorization provider can do."""

from typing import Any

from operable.flow.canonical import spelled
from operable.flow.contracts import entry, known
from operable.flow.errors import invalid_argument
from operable.flow.method import Defaults, Method, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    name = required(params, "provider")
    if name not in known("authorizers"):
        raise invalid_argument(f"Unknown authorization provider: {spelled(name)}")
    return {"ok": True, "provider": name, "capabilities": dict(entry("authorizers", name).capabilities)}


METHOD = Method(
    name="agentcli.authorization.schema",
    order=24,
    summary="Describe an authorization provider",
    run=_run,
    params=("provider",),
)
