"""What this program can do, by topic."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.topics import describe

    return {"ok": True, "description": describe(params.get("target", "commands"))}


OPERATION = Operation(
    method="agentcli.describe",
    order=4,
    verb="describe",
    place=4,
    summary="Descriptions of manifests, targets, commands and methods",
    run=_run,
    params=(
        Parameter(
            "target",
            "word",
            shown="[topic]",
            called="topic",
            default="commands",
            help="manifest, workflow, task, targets, commands or rpc",
        ),
    ),
)
