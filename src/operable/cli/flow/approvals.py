"""Approvals of tasks on the command line: what would be approved or taken back, and what there is."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from operable.cli.flow.command import FlowCall
from operable.cli.flow.executions import disclosed
from operable.cli.flow.input import addressed, warned
from operable.cli.flow.work_events import FlowApproval
from operable.flow.approve import local_approvals
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.run.caller import bind, read_content, unbound_warnings
from operable.kernel.errors import Fail
from operable.tool import Change, Warn


def planned_grant(
    call: FlowCall,
) -> Iterator[Change[Callable[[], FlowApproval]] | Warn]:
    """The approval as a plan: bound to what the task is now. Who may not approve it is refused already."""
    manifest, task, by_whom = call.manifest(), call["taskId"], call.caller()
    source, workflow, by, ttl = call.source, call["workflowId"], call["by"], call["ttlS"]
    approver = by or by_whom.account
    signer = call["signer"] or by_whom.environment.get("AGENTCLI_SIGNER") or "ssh"
    with addressed(source):
        selected = select(manifest, task, workflow)
        bound = bind(selected, by_whom, timeout_ms=call["timeoutMs"], instance_id=call["instanceId"])
        content = read_content(selected, bound, by_whom)
        try:
            local_approvals.check_grant(selected.task, approver, ttl)
            local_approvals.check_signer(approver, by_whom.believing(), signer, call["signingKey"])
        except FlowError as refusal:
            if refusal.flow_code == "approval_scope_mismatch" and not by:
                line = shlex.join(["operable", "flow", "approve", source, task])
                refusal.hint = f"name the approver: {line} --by PRINCIPAL"
            raise

    def grant() -> FlowApproval:
        with addressed(source, task, by=by_whom, workflow=workflow):
            made = local_approvals.grant(
                by_whom.approvals,
                selected,
                bound.binding,
                content=content.digests,
                approver=approver,
                believing=by_whom.believing(),
                reason=call["reason"],
                ttl=ttl,
                signer=signer,
                key=call["signingKey"],
            )
        return FlowApproval(status="pending", approver_from=_origin(by), **made)

    yield from warned(local_approvals.scope_warnings(selected.task, by_whom.believing()))
    yield from warned(unbound_warnings(content.unbound))
    yield Change(
        "approve",
        f"{selected.workflow['id']}/{selected.task['id']}",
        runs=disclosed(selected, bound),
        task_hash=bound.task_hash,
        manifest_digest=bound.manifest_digest,
        content=content.digests,
        unbound=content.unbound,
        approver=approver,
        approver_from=_origin(by),
        reason=call["reason"],
        ttl_s=ttl,
    ).carry(grant)


def _origin(by: str | None) -> str:
    """Where the name of the approver comes from."""
    return "account" if not by else "--by"


def planned_revocation(call: FlowCall) -> Change[Callable[[], FlowApproval]] | None:
    """None when it was revoked already."""
    approval_id, by_whom = call["approvalId"], call.caller()
    with addressed(approval_id):
        found = local_approvals.listed(by_whom.approvals)
    approval = next((each for each in found if each["approval_id"] == approval_id), None)
    if approval is None:
        raise Fail(
            "not_found",
            "APPROVAL_NOT_FOUND",
            f"there is no approval {approval_id}",
            target=approval_id,
            hint="operable flow approvals",
        )
    if approval["status"] == "consumed":
        raise Fail(
            "conflict",
            "APPROVAL_USED",
            f"approval {approval_id} was used by execution {approval['consumed_by_execution_id']}",
            target=approval_id,
        )
    if approval["status"] == "revoked":
        return None

    def take_back() -> FlowApproval:
        who = call["by"] or by_whom.account
        with addressed(approval_id):
            done = local_approvals.revoke(by_whom.approvals, approval_id, by=who, reason=call["reason"])
        return FlowApproval(**done)

    found_in = {name: approval[name] for name in ("workflow_id", "task_id")}
    return Change("revoke", approval_id, **found_in).carry(take_back)
