"""A manifest as a backend wants it."""

from collections.abc import Mapping
from typing import Any

from operable.flow.operation import OPTIONAL_MANIFEST, Defaults, Operation, Parameter, present, truthy


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.compile.target import compile_manifest

    manifest = present(params, "manifest")
    target: Any = params.get("target")
    if not truthy(target):
        target = defaults.target or "standalone"
    output = compile_manifest(manifest, target, explain=truthy(params.get("explain")))
    return {"ok": True, "target": target, "output": output}


def _printed(answer: dict[str, Any], params: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.output_files import with_written

    return with_written(answer, answer["output"], params.get("write"), cwd=defaults.cwd)


OPERATION = Operation(
    method="agentcli.compile",
    order=8,
    verb="compile",
    place=6,
    summary="Compile a manifest for a target",
    run=_run,
    params=(
        OPTIONAL_MANIFEST,
        Parameter(
            "target",
            help="the backend",
            default="operable",
            offered=("operable", "standalone", "openclaw-scheduler"),
        ),
        Parameter("explain", "flag", help="say for each task how it was mapped"),
        Parameter("write", rpc=False),
    ),
    printed=_printed,
)
