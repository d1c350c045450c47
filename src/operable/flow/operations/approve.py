"""Approve one execution of a task, exactly as it is now."""

from typing import Any

from operable.flow.operation import (
    INSTANCE,
    MANIFEST,
    SIGNING,
    TASK,
    TIMEOUT,
    WORKFLOW,
    Defaults,
    Operation,
    Parameter,
    home,
)


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.approve.local_approvals import grant, scope_warnings
    from operable.flow.manifest.selection import select
    from operable.flow.run.caller import bind, read_content, unbound_warnings
    from operable.flow.task_query import caller_of

    caller = caller_of(defaults)
    selected = select(params["manifest"], params["taskId"], params.get("workflowId"))
    bound = bind(selected, caller, timeout_ms=params.get("timeoutMs"), instance_id=params.get("instanceId"))
    content = read_content(selected, bound, caller)
    approver = params.get("by") or caller.account
    approval = grant(
        caller.approvals,
        selected,
        bound.binding,
        content=content.digests,
        approver=approver,
        believing=caller.believing(),
        reason=params.get("reason"),
        ttl=params.get("ttlS"),
        signer=params.get("signer") or defaults.environment.get("AGENTCLI_SIGNER") or "ssh",
        key=params.get("signingKey"),
    )
    warnings = scope_warnings(selected.task, caller.believing())
    warnings += unbound_warnings(content.unbound)
    return {"ok": True, "approval": approval, **({"warnings": warnings} if warnings else {})}


OPERATION = Operation(
    verb="approve",
    place=28,
    summary="Approve one execution of a task",
    run=_run,
    changes=True,
    params=(
        MANIFEST,
        TASK,
        WORKFLOW,
        Parameter(
            "by", help="who approves; by default your account on this machine, whatever USER and HOSTNAME say"
        ),
        Parameter("reason", help="why"),
        Parameter(
            "ttlS",
            "count",
            option="ttl-s",
            unit=" (seconds)",
            help="seconds until it expires; at most what the task allows",
        ),
        TIMEOUT._replace(help="the limit that the execution will be given"),
        INSTANCE._replace(help="the instance that the execution will be given"),
        SIGNING[0]._replace(help="who signs it"),
        *SIGNING[1:],
        home("where approvals are kept"),
    ),
)
