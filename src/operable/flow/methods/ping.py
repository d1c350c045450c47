"""agentcli.ping: an answer, to know that somebody is there."""

from typing import Any

from operable.flow.method import Defaults, Method


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "pong": True}


METHOD = Method(name="agentcli.ping", order=1, summary="Health check", run=_run)
