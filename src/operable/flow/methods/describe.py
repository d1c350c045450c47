"""agentcli.describe: what this program can do, by topic."""

from typing import Any

from operable.flow.method import Defaults, Method
from operable.flow.topics import describe


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "description": describe(params.get("target", "commands"))}


METHOD = Method(
    name="agentcli.describe",
    order=4,
    summary="Descriptions of manifests, targets, commands and methods",
    run=_run,
    params=("target",),
)
