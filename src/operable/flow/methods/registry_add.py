"""agentcli.registry.add: keep a manifest under a name."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.home import home_of
from operable.flow.method import Defaults, Method, present
from operable.flow.registry import add


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    name = params.get("name")
    if not isinstance(name, str) or not name.strip():
        raise invalid_argument("name is required")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, **add(home, name, present(params, "manifest"))}


METHOD = Method(
    name="agentcli.registry.add",
    order=41,
    summary="Keep a manifest under a name",
    run=_run,
    changes=True,
    params=("name", "manifest"),
)
