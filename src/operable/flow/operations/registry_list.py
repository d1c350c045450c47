"""The manifests that are kept under names."""

from typing import Any

from operable.flow.operation import Defaults, Operation, home, local


def _run(_params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of
    from operable.flow.registry import entries

    return {"ok": True, "entries": entries(home_of(defaults.environment, defaults.home, cwd=defaults.cwd))}


OPERATION = Operation(
    method="agentcli.registry.list",
    order=13,
    verb="registry list",
    place=35,
    summary="List registered manifests",
    run=_run,
    params=(local("name", "show the manifest of this name", "word", shown="[name]"), home()),
)
