"""agentcli.convert: a 0.1 manifest in the words of 0.2."""

from typing import Any

from operable.flow.manifest.conversion import convert
from operable.flow.method import Defaults, Method, required


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "manifest": convert(required(params, "manifest"))}


METHOD = Method(
    name="agentcli.convert",
    order=15,
    summary="Convert a v0.1 manifest to v0.2",
    run=_run,
    params=("manifest",),
)
