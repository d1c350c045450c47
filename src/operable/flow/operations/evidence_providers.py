"""Who can sign what happened.

The draft has a list of objects, the newest peer one of names (`--compat 0.5`).
"""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import listed

    found = listed("evidences")
    if defaults.compat is not None:
        return {"ok": True, "providers": [each.name for each in found]}
    providers = [{"name": each.name, "capabilities": {"methods": list(each.methods)}} for each in found]
    return {"ok": True, "providers": providers}


OPERATION = Operation(
    method="agentcli.evidence.providers",
    order=26,
    verb="evidence providers",
    place=25,
    summary="List evidence providers",
    run=_run,
)
