"""Commands of the agentcli command line about tasks: run them, approve them, and ask who they are and what was signed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from operable.cli.agentcli_call import Call, Json
from operable.flow.approve.local_approvals import grant, revoke, scope_warnings
from operable.flow.audit.verification import verify_execution
from operable.flow.contracts import listed as providers
from operable.flow.manifest.selection import select
from operable.flow.run.caller import Allowance, bind, content_of, unbound_of, unbound_warnings
from operable.flow.scheduler.backends import backend_of
from operable.flow.trust.governance import identify

if TYPE_CHECKING:
    from operable.flow.run.executor import ExecOptions


def _exec(call: Call) -> Json:
    from operable.flow.run.executor import execute_selected, preview

    options = _options(call)
    manifest, task_id = call.manifest(), call.line.words[1]
    selected = select(manifest, task_id, options.workflow_id)
    if not selected.is_shell:
        return _delegated(call, selected)
    if call.has("dry-run"):
        return preview(manifest, task_id, call.caller, options)
    return execute_selected(selected, call.caller, options)


def _delegated(call: Call, selected: Any) -> Json:
    from operable.flow.scheduler.dispatch import dispatch, no_runtime, preview_dispatch

    if call.has("dry-run"):
        return preview_dispatch(selected)
    params = {
        "dbPath": call.value("db"),
        "schedulerPrefix": call.value("scheduler-prefix"),
        "schedulerBin": call.value("scheduler-bin"),
    }
    defaults = call.defaults
    named = [
        params["schedulerPrefix"],
        params["schedulerBin"],
        defaults.scheduler_prefix,
        defaults.scheduler_bin,
    ]
    if not any(named):
        raise no_runtime(selected)
    client = backend_of(params, defaults).client
    assert client is not None  # noqa: S101 - the scheduler is the backend when none is named
    return dispatch(selected, client, defaults.cwd, defaults.environment)


def _options(call: Call) -> ExecOptions:
    from operable.flow.run.executor import ExecOptions

    return ExecOptions(
        workflow_id=call.value("workflow"),
        timeout_ms=call.number("timeout"),
        signer=call.value("signer"),
        signing_key=call.value("signing-key"),
        evidence_provider=call.value("evidence-provider"),
        instance_id=call.value("instance-id"),
        require_evidence=call.has("require-evidence"),
        require_authorization=call.has("require-authorization"),
        identity_debug=call.has("identity-debug"),
        presentation_debug=call.has("presentation-debug"),
        approval_id=call.value("approval-id"),
    )


def _run(call: Call) -> Json:
    from operable.flow.run.workflow import RunOptions, run

    options = RunOptions(
        workflow_id=call.value("workflow"),
        root=call.value("root"),
        all_roots=call.has("all-roots"),
        each=_options(call),
    )
    return run(call.manifest(), call.caller, options, dry_run=call.has("dry-run"))


def _approve(call: Call) -> Json:
    ttl, timeout = call.number("ttl-s"), call.number("timeout")
    selected = select(call.manifest(), call.line.words[1], call.value("workflow"))
    bound = bind(selected, call.caller, timeout_ms=timeout, instance_id=call.value("instance-id"))
    made = grant(
        call.caller.approvals,
        selected,
        bound.binding,
        content=content_of(selected, bound, call.caller),
        approver=call.value("by") or call.caller.principal,
        believing=call.caller.believing(),
        reason=call.value("reason"),
        ttl=ttl,
        signer=call.value("signer") or call.defaults.environment.get("AGENTCLI_SIGNER") or "ssh",
        key=call.value("signing-key"),
    )
    approver = call.value("by") or call.caller.principal
    warnings = scope_warnings(selected.task, call.caller.believing(), approver=approver)
    warnings += unbound_warnings(unbound_of(selected, bound))
    return {"ok": True, "approval": made, **({"warnings": warnings} if warnings else {})}


def _revoke(call: Call) -> Json:
    found = revoke(
        call.caller.approvals,
        call.line.words[0],
        by=call.value("by") or call.caller.principal,
        reason=call.value("reason"),
    )
    return {"ok": True, **found}


def _whoami(call: Call) -> Json:
    selected = select(call.manifest(), call.line.words[1], call.value("workflow"))
    allowance = Allowance(commands=call.has("allow-commands"), network=call.has("allow-network"))
    found = identify(selected, bind(selected, call.caller), call.caller, allowance, tolerate_handoff=True)
    found.release()
    return {
        "ok": True,
        "principal_used": found.principal,
        "declared_identity": found.declared,
        "resolved_identity": found.resolved,
        "trust": found.trust,
    }


def _signing(_call: Call) -> Json:
    methods = {entry.name: list(entry.methods) for entry in providers("evidences")}
    return {"ok": True, "providers": [{"name": name, "methods": methods[name]} for name in ("ssh", "none")]}


def _of_task(name: str) -> Callable[[Call], Json]:
    return lambda call: call.ask(
        name,
        manifest=call.manifest(),
        taskId=call.line.words[1],
        workflowId=call.value("workflow"),
        allowCommands=call.has("allow-commands"),
        allowNetwork=call.has("allow-network"),
    )


TASKS: dict[str, Callable[[Call], Any]] = {
    "exec": _exec,
    "run": _run,
    "approve": _approve,
    "approvals list": lambda call: call.ask(
        "approvals.list",
        status=call.value("status"),
        workflowId=call.value("workflow"),
        taskId=call.value("task"),
    ),
    "approvals revoke": _revoke,
    "audit": lambda call: call.ask("audit", limit=call.number("limit")),
    "verify": lambda call: verify_execution(
        call.line.words[0], call.caller, allowed_signers=call.value("allowed-signers")
    ),
    "whoami": _whoami,
    "signing providers": _signing,
    "identity providers": lambda call: call.ask("identity.providers"),
    "identity schema": lambda call: call.ask("identity.schema", provider=call.word(0)),
    "identity resolve": _of_task("identity.resolve"),
    "identity validate-delegation": _of_task("identity.validateDelegation"),
    "authorization-proof methods": lambda call: call.ask("authorizationProof.methods"),
    "authorization-proof schema": lambda call: call.ask("authorizationProof.schema", method=call.word(0)),
    "authorization-proof verify": _of_task("authorizationProof.verify"),
    "authorization providers": lambda call: call.ask("authorization.providers"),
    "authorization schema": lambda call: call.ask("authorization.schema", provider=call.word(0)),
    "authorization evaluate": _of_task("authorization.evaluate"),
    "evidence providers": lambda call: call.ask("evidence.providers"),
    "evidence schema": lambda call: call.ask("evidence.schema", provider=call.word(0)),
}
