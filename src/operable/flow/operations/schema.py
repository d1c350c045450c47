"""The JSON Schema of a manifest, or of what is made of it."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter, flag


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.manifest.json_schema import schema

    form, document = schema(params.get("target", "manifest"), legacy=flag(params, "legacy"))
    return {"ok": True, "schema_format": form, "schema": document}


OPERATION = Operation(
    method="agentcli.schema",
    order=3,
    verb="schema",
    place=3,
    summary="Schema fragments for manifests and protocol messages",
    run=_run,
    params=(
        Parameter(
            "target",
            "word",
            shown="[target]",
            default="manifest",
            help="manifest, workflow, task, scheduler-job, standalone-plan, handoff-v4, rpc-request or rpc-response",
        ),
        Parameter("legacy", "flag", help="the older descriptor form"),
    ),
)
