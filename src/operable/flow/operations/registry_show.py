"""One manifest of the registry."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter, filled_text


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of
    from operable.flow.registry import show

    name = filled_text(params, "name")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, "name": name, "manifest": show(home, name)}


OPERATION = Operation(
    method="agentcli.registry.show",
    order=14,
    verb="registry show",
    place=37,
    summary="Show one registered manifest",
    run=_run,
    params=(Parameter("name", "word", shown="<name>"),),
)
