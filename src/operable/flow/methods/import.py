"""agentcli.import: keep the manifest that a project ships."""  # noqa: N999 - the file is called like the method

import os
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.home import home_of
from operable.flow.method import Defaults, Method
from operable.flow.project import import_from


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    path, name = params.get("path"), params.get("name")
    if not isinstance(path, str) or not path.strip():
        raise invalid_argument("path is required")
    if name is not None and not isinstance(name, str):
        raise invalid_argument("name must be a string")
    home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
    return {"ok": True, **import_from(home, os.path.join(defaults.cwd, path), name)}


METHOD = Method(
    name="agentcli.import",
    order=43,
    summary="Keep the manifest that a project ships",
    run=_run,
    changes=True,
    params=("path", "name"),
)
