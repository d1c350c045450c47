"""The identity a task would run as. Credentials are really obtained, never shown, and given back.

Credentials that a command of the manifest gives, or a server, are obtained only with `allowCommands` or `allowNetwork`.
"""

from typing import Any

from operable.flow.operation import OF_TASK, Defaults, Operation


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.task_query import identified

    found = identified(params, defaults)
    return {
        "ok": True,
        "declared_identity": found.declared,
        "resolved_identity": found.resolved,
        "principal_used": found.principal,
    }


OPERATION = Operation(
    method="agentcli.identity.resolve",
    order=18,
    verb="identity resolve",
    place=17,
    summary="Resolve the effective identity of a task",
    run=_run,
    slow=True,
    params=OF_TASK,
)
