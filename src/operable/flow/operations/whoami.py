"""The identity a task would run as, with its trust."""

from typing import Any

from operable.flow.operation import OF_TASK, Defaults, Operation


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.task_query import identified

    found = identified(params, defaults)
    return {
        "ok": True,
        "principal_used": found.principal,
        "declared_identity": found.declared,
        "resolved_identity": found.resolved,
        "trust": found.trust,
    }


OPERATION = Operation(
    verb="whoami", place=33, summary="The identity a task would run as", run=_run, slow=True, params=OF_TASK
)
