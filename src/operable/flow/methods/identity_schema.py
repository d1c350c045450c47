"""agentcli.identity.schema: what one identity provider can do."""

from typing import Any

from operable.flow.canonical import spelled
from operable.flow.contracts import entry, known
from operable.flow.errors import invalid_argument
from operable.flow.method import Defaults, Method, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    name = required(params, "provider")
    if name not in known("identities"):
        raise invalid_argument(f"Unknown identity provider: {spelled(name)}")
    return {"ok": True, "provider": name, "capabilities": dict(entry("identities", name).capabilities)}


METHOD = Method(
    name="agentcli.identity.schema",
    order=17,
    summary="Describe an identity provider",
    run=_run,
    params=("provider",),
)
