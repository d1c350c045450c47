"""How an authorization can be proven.

The draft has a list of objects, the newest peer one of names (`--compat 0.5`).
"""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import listed

    names = [found.name for found in listed("proofs")]
    if defaults.compat is not None:
        return {"ok": True, "methods": names}
    return {"ok": True, "methods": [{"name": name, "capabilities": _capabilities(name)} for name in names]}


def _capabilities(name: str) -> dict[str, bool]:
    """What a verified proof of this method says: that it is bound to the manifest, and in v4 mode used only once."""
    real = name != "none"
    return {"verifies": real, "manifest_binding": real, "handoff_v4": real, "claims": name == "jwt"}


OPERATION = Operation(
    method="agentcli.authorizationProof.methods",
    order=20,
    verb="authorization-proof methods",
    place=19,
    summary="List authorization proof methods",
    run=_run,
)
