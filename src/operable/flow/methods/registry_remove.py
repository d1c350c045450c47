"""agentcli.registry.remove: forget a manifest of the registry."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.home import home_of
from operable.flow.method import Defaults, Method
from operable.flow.registry import remove


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    name = params.get("name")
    if not isinstance(name, str) or not name.strip():
        raise invalid_argument("name is required")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, **remove(home, name)}


METHOD = Method(
    name="agentcli.registry.remove",
    order=42,
    summary="Forget a registered manifest",
    run=_run,
    changes=True,
    params=("name",),
)
