"""The policy engines that can be asked.

The draft has a list of objects, the newest peer one of names (`--compat 0.5`).
"""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import listed

    found = listed("authorizers")
    if defaults.compat is not None:
        return {"ok": True, "providers": [each.name for each in found]}
    providers = [{"name": each.name, "capabilities": dict(each.capabilities)} for each in found]
    return {"ok": True, "providers": providers}


OPERATION = Operation(
    method="agentcli.authorization.providers",
    order=23,
    verb="authorization providers",
    place=22,
    summary="List authorization providers",
    run=_run,
)
