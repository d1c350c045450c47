"""agentcli.targets: what manifests can be compiled to."""

from typing import Any

from operable.flow.method import Defaults, Method
from operable.flow.topics import targets


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "targets": targets()}


METHOD = Method(name="agentcli.targets", order=5, summary="List compile targets", run=_run)
