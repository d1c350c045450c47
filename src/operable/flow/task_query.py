"""What operations on one task have in common: the task that is meant, who asks, and what the caller allows.

It loads the machinery of tasks only when a question is asked: the declarations of operations read `EXECUTION` from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operable.flow.operation import (
    INSTANCE,
    SIGNING,
    TIMEOUT,
    WORKFLOW,
    Defaults,
    Parameter,
    flag,
    home,
    local,
    required,
)

if TYPE_CHECKING:
    from operable.flow.manifest.selection import Selected
    from operable.flow.run.caller import Allowance, Bound, Caller
    from operable.flow.run.options import ExecOptions
    from operable.flow.trust.governance import Identified

# The options of an execution, alone or as part of a run.
EXECUTION = (
    WORKFLOW,
    TIMEOUT,
    *SIGNING,
    Parameter("evidenceProvider", help="who signs the evidence, in place of the profile's"),
    INSTANCE,
    Parameter("dryRun", "flag"),
    Parameter("requireEvidence", "flag", help="fail when there is no evidence that can be verified"),
    Parameter("requireAuthorization", "flag", help="refuse a task that asks no policy"),
    Parameter("identityDebug", "flag", help="show the session without its secrets"),
    Parameter("presentationDebug", "flag", help="show how credentials were presented"),
)
# Which agent runs prompts, under which rules: only for people here, who may be asked.
AGENT = (
    local("agent", "the agent that runs a prompt, in place of the one that the task names", word="AGENT"),
    local("policy", "a file with rules for the agent", word="FILE"),
    home("where approvals and the audit are kept"),
)


def caller_of(defaults: Defaults) -> Caller:
    from operable.flow.run.caller import Caller

    return Caller(defaults.cwd, defaults.environment, defaults.home, defaults.side)


def asked_task(params: dict[str, Any], defaults: Defaults) -> tuple[Selected, Bound, Caller]:
    """The task of `manifest`, `taskId`, `workflowId`, and what it is bound to here."""
    from operable.flow.manifest.selection import select
    from operable.flow.run.caller import bind

    manifest = required(params, "manifest")
    selected = select(manifest, required(params, "taskId"), params.get("workflowId"))
    caller = caller_of(defaults)
    return selected, bind(selected, caller), caller


def allowance_of(params: dict[str, Any]) -> Allowance:
    """What the client allows: unless it says so, neither commands of the manifest nor the network."""
    from operable.flow.run.caller import Allowance

    return Allowance(commands=flag(params, "allowCommands"), network=flag(params, "allowNetwork"))


def identified(params: dict[str, Any], defaults: Defaults) -> Identified:
    """The identity of the task. Its credentials were obtained and are given back."""
    from operable.flow.trust.governance import identify

    selected, bound, caller = asked_task(params, defaults)
    found = identify(selected, bound, caller, allowance_of(params), tolerate_handoff=True)
    found.release()
    return found


def exec_options(params: dict[str, Any]) -> ExecOptions:
    """How a task is run, of the parameters in `EXECUTION`."""
    from operable.flow.run.options import ExecOptions

    return ExecOptions(
        workflow_id=params.get("workflowId"),
        timeout_ms=params.get("timeoutMs"),
        signer=params.get("signer"),
        signing_key=params.get("signingKey"),
        evidence_provider=params.get("evidenceProvider"),
        instance_id=params.get("instanceId"),
        require_evidence=flag(params, "requireEvidence"),
        require_authorization=flag(params, "requireAuthorization"),
        identity_debug=flag(params, "identityDebug"),
        presentation_debug=flag(params, "presentationDebug"),
        approval_id=params.get("approvalId"),
        agent=params.get("agent"),
        policy=params.get("policy"),
    )
