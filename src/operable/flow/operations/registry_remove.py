"""Forget a manifest of the registry."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter, filled_text, home


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of
    from operable.flow.registry import remove

    name = filled_text(params, "name")
    return {"ok": True, **remove(home_of(defaults.environment, defaults.home, cwd=defaults.cwd), name)}


OPERATION = Operation(
    method="agentcli.registry.remove",
    order=42,
    verb="registry remove",
    place=38,
    summary="Forget a registered manifest",
    run=_run,
    changes=True,
    params=(Parameter("name", "word", shown="<name>", help="what it is called"), home()),
)
