"""agentcli.compile: a manifest as a backend wants it."""

from typing import Any

from operable.flow.compile.target import compile_manifest
from operable.flow.method import Defaults, Method, present, truthy


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    manifest = present(params, "manifest")
    target: Any = params.get("target")
    if not truthy(target):
        target = defaults.target or "standalone"
    return {
        "ok": True,
        "target": target,
        "output": compile_manifest(manifest, target, explain=truthy(params.get("explain"))),
    }


METHOD = Method(
    name="agentcli.compile",
    order=8,
    summary="Compile a manifest for a target",
    run=_run,
    params=("manifest", "target", "explain"),
)
