"""agentcli.paths: where manifests, the registry, approvals and the audit are kept."""

from typing import Any

from operable.flow.home import home_of, paths
from operable.flow.method import Defaults, Method


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "paths": paths(home_of(defaults.environment, defaults.home, cwd=defaults.cwd))}


METHOD = Method(name="agentcli.paths", order=6, summary="Resolved home directory layout", run=_run)
