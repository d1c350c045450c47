"""An answer, to know that the server is there."""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "pong": True}


OPERATION = Operation(method="agentcli.ping", order=1, summary="Health check", run=_run)
