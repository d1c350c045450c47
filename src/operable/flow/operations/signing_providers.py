"""Who can sign approvals and attestations."""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import listed

    methods = {entry.name: list(entry.methods) for entry in listed("evidences")}
    return {"ok": True, "providers": [{"name": name, "methods": methods[name]} for name in ("ssh", "none")]}


OPERATION = Operation(verb="signing providers", place=31, summary="List the signing providers", run=_run)
