"""A 0.1 manifest in the words of 0.2."""

from collections.abc import Mapping
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import OPTIONAL_MANIFEST, Defaults, Operation, Parameter, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.manifest.conversion import convert

    if params.get("output") is not None and params.get("write") is not None:
        raise invalid_argument("Specify either --output or --write, not both.")
    return {"ok": True, "manifest": convert(required(params, "manifest"))}


def _printed(answer: dict[str, Any], params: Mapping[str, Any], defaults: Defaults) -> Any:
    from operable.flow.manifest.validation import MANIFEST_VERSION
    from operable.flow.output_files import write_document

    path = params.get("output") or params.get("write")
    if path is None:
        return answer["manifest"]
    place = write_document(path, answer["manifest"], cwd=defaults.cwd)
    return {"ok": True, "output": place, "version": MANIFEST_VERSION}


OPERATION = Operation(
    method="agentcli.convert",
    order=15,
    verb="convert",
    place=7,
    summary="Convert a v0.1 manifest to v0.2",
    run=_run,
    params=(OPTIONAL_MANIFEST, Parameter("output", rpc=False), Parameter("write", rpc=False)),
    printed=_printed,
)
