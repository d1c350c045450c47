"""Keep the manifest that a project ships."""  # noqa: N999 - the file is called like the method

import os
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, filled_text, home


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of
    from operable.flow.registry import import_from

    path, name = filled_text(params, "path"), params.get("name")
    if name is not None and not isinstance(name, str):
        raise invalid_argument("name must be a string")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, **import_from(home, os.path.join(defaults.cwd, path), name)}


OPERATION = Operation(
    method="agentcli.import",
    order=43,
    verb="import",
    place=39,
    summary="Keep the manifest that a project ships",
    run=_run,
    changes=True,
    params=(
        Parameter("path", "word", shown="<folder>", called="folder", help="the project"),
        Parameter("name", help="what it is called; by default like the folder"),
        home(),
    ),
)
