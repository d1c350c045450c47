"""agentcli.targets: what manifests can be compiled to."""

from typing import Any

from operable.flow.method import Defaults, Method
from operable.flow.target import listed_targets


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {
        "ok": True,
        "targets": [
            {
                "name": target.name,
                "description": target.description,
                "capabilities": list(target.capabilities),
                "features": dict(target.features),
            }
            for target in listed_targets()
        ],
    }


METHOD = Method(name="agentcli.targets", order=5, summary="List compile targets", run=_run)
