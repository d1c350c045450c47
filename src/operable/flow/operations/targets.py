"""What manifests can be compiled to."""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.topics import targets

    return {"ok": True, "targets": targets()}


OPERATION = Operation(
    method="agentcli.targets", order=5, verb="targets", place=10, summary="List compile targets", run=_run
)
