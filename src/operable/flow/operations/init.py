"""Begin a manifest: one workflow with one shell task that runs as it is. An existing file is never overwritten."""

import os
import shutil
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of, paths, private_folder
    from operable.flow.manifest.scaffold import scaffold
    from operable.flow.output_files import write_document

    tool = params.get("tool")
    manifest = scaffold(tool, params.get("workflowId") or "default", params.get("taskId") or "run")
    path = params.get("output") or "agentcli.json"
    if os.path.lexists(os.path.join(defaults.cwd, path)):
        raise invalid_argument(f"Refusing to overwrite an existing file: {path}")
    places = paths(home_of(defaults.environment, defaults.home, cwd=defaults.cwd))
    for name in ("manifests", "output", "state", "registry"):
        private_folder(places[name])
    missing = tool is not None and shutil.which(tool, path=defaults.environment.get("PATH")) is None
    return {
        "ok": True,
        "written_to": write_document(path, manifest, cwd=defaults.cwd),
        "manifest": manifest,
        "warnings": [f'Tool "{tool}" not found on PATH'] if missing else [],
    }


OPERATION = Operation(
    verb="init",
    place=12,
    summary="Begin a manifest",
    run=_run,
    changes=True,
    params=(
        Parameter(
            "output",
            called="file",
            operand=True,
            default="workflow.json",
            help="where it is written, inside the current folder",
        ),
        Parameter("tool", help="the program that its task calls"),
        Parameter("workflowId", default="default", help="the id of the workflow"),
        Parameter("taskId", default="run", help="the id of the task"),
    ),
)
