"""agentcli.registry.show: one manifest of the registry."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.home import home_of
from operable.flow.method import Defaults, Method
from operable.flow.registry import show


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    name = params.get("name")
    if not isinstance(name, str) or not name.strip():
        raise invalid_argument("name is required")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, "name": name, "manifest": show(home, name)}


METHOD = Method(
    name="agentcli.registry.show",
    order=14,
    summary="Show one registered manifest",
    run=_run,
    params=("name",),
)
