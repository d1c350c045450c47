"""agentcli.merge: several manifests as one."""

from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.manifest.combination import combine
from operable.flow.method import Defaults, Method


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    manifests = params.get("manifests")
    if not isinstance(manifests, list):
        raise invalid_argument("manifests must be an array")
    return {"ok": True, "manifest": combine(manifests)}


METHOD = Method(
    name="agentcli.merge", order=40, summary="Several manifests as one", run=_run, params=("manifests",)
)
