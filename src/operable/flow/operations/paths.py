"""Where manifests, the registry, approvals and the audit are kept."""

from typing import Any

from operable.flow.operation import Defaults, Operation, home


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of, paths

    return {"ok": True, "paths": paths(home_of(defaults.environment, defaults.home, cwd=defaults.cwd))}


OPERATION = Operation(
    method="agentcli.paths",
    order=6,
    verb="paths",
    place=11,
    summary="Resolved home directory layout",
    run=_run,
    params=(home(),),
)
