"""agentcli.schema: the JSON Schema of a manifest, or of what is made of it."""

from typing import Any

from operable.flow.manifest.json_schema import schema
from operable.flow.method import Defaults, Method, flag


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    legacy = flag(params, "legacy")
    form, document = schema(params.get("target", "manifest"), legacy=legacy)
    return {"ok": True, "schema_format": form, "schema": document}


METHOD = Method(
    name="agentcli.schema",
    order=3,
    summary="Schema fragments for manifests and protocol messages",
    run=_run,
    params=("target", "legacy"),
)
