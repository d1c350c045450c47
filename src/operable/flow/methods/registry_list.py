"""agentcli.registry.list: the manifests that are kept under names."""

from typing import Any

from operable.flow.home import home_of
from operable.flow.method import Defaults, Method
from operable.flow.registry import entries


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "entries": entries(home_of(defaults.environment, defaults.home, cwd=defaults.cwd))}


METHOD = Method(name="agentcli.registry.list", order=13, summary="List registered manifests", run=_run)
