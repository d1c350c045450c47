"""The identity providers, with what each can do."""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import listed

    found = listed("identities")
    providers = [{"name": each.name, "capabilities": dict(each.capabilities)} for each in found]
    return {"ok": True, "providers": providers}


OPERATION = Operation(
    method="agentcli.identity.providers",
    order=16,
    verb="identity providers",
    place=15,
    summary="List identity providers",
    run=_run,
)
