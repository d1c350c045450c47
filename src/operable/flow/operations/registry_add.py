"""Keep a manifest under a name."""

from typing import Any

from operable.flow.operation import MANIFEST, Defaults, Operation, Parameter, filled_text, home, present


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of
    from operable.flow.registry import add, default_name

    source = params.get("source")
    name = (params.get("name") or default_name(source)) if source else filled_text(params, "name")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, **add(home, name, present(params, "manifest"))}


OPERATION = Operation(
    method="agentcli.registry.add",
    order=41,
    verb="registry add",
    place=36,
    summary="Keep a manifest under a name",
    run=_run,
    changes=True,
    params=(
        MANIFEST,
        Parameter("name", help="what it is called; by default the file's name without its ending"),
        Parameter("source", "source", rpc=False),
        home(),
    ),
)
