"""agentcli.identity.resolve: as whom a task would run. Credentials are really obtained, shown to nobody, and given back.

Credentials that a command of the manifest gives, or a server, are obtained only with `allowCommands` or `allowNetwork`.
"""

from typing import Any

from operable.flow.method import Defaults, Method
from operable.flow.task_query import TASK_PARAMS, allowance_of, asked_task
from operable.flow.trust.governance import identify


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    selected, bound, caller = asked_task(params, defaults)
    found = identify(selected, bound, caller, allowance_of(params), tolerate_handoff=True)
    found.release()
    return {
        "ok": True,
        "declared_identity": found.declared,
        "resolved_identity": found.resolved,
        "principal_used": found.principal,
    }


METHOD = Method(
    name="agentcli.identity.resolve",
    order=18,
    summary="Resolve the effective identity of a task",
    run=_run,
    slow=True,
    params=TASK_PARAMS,
)
