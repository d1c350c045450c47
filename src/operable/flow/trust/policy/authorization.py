"""Asking a policy whether a task may run: the request, the answer, and what the answer means.

A policy sees only the sections that its profile includes. Its raw answer is mapped to permit, deny or
require-escalation: by the profile's three lists when one of them has members, else by those three words; everything
else is deny. A policy that cannot be asked is an error, unless the profile says `on_error: warn`; then the task may run
and the decision says why. A policy that exceeds its limits denies, whatever the profile says.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from operable.flow.contracts import Authorizer, Surroundings, entry, known
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.trust.policy.evaluator import PolicyEnded
from operable.kernel.data_class import dataclass
from operable.kernel.redact import redact_text

Json = dict[str, Any]
PERMIT, DENY, ESCALATE = "permit", "deny", "require-escalation"
DEFAULT_SECTIONS = ("identity", "contract", "command")
_WARNED = "the policy could not be evaluated; on_error is warn"
_REASON_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a policy may receive about one task."""

    workflow_id: str
    task_id: str
    principal: str | None = None
    declared_level: str | None = None
    effective_level: str | None = None
    contract: Mapping[str, Any] = field(default_factory=dict)
    command: Mapping[str, Any] | None = field(default=None, repr=False)  # program, args
    actor_context: Mapping[str, Any] | None = None
    step_up: Mapping[str, Any] | None = None


def policy_request(circumstances: Circumstances, include: list[str] | None = None) -> Json:
    """The request with the wanted sections; unknown names are ignored."""
    made: Json = {"source": {"workflow_id": circumstances.workflow_id, "task_id": circumstances.task_id}}
    for name in include if include is not None else DEFAULT_SECTIONS:
        if name in _SECTIONS:
            made[name] = _SECTIONS[name](circumstances)
    return made


def _command(circumstances: Circumstances) -> Json | None:
    if circumstances.command is None:
        return None
    return {
        "program": circumstances.command.get("program"),
        "args": list(circumstances.command.get("args") or []),
    }


def _actor(circumstances: Circumstances) -> Json:
    context = circumstances.actor_context or {}
    names = "org_id on_behalf_of_user_id delegation_grant_id run_id agent_id".split()
    return {"actor": context.get("actor"), **{name: context.get(name) for name in names}}


_SECTIONS: dict[str, Callable[[Circumstances], Any]] = {
    "identity": lambda circumstances: {
        "principal": circumstances.principal,
        "trust_level": circumstances.effective_level,
    },
    "contract": lambda circumstances: {
        "required_trust_level": circumstances.contract.get("required_trust_level"),
        "allowed_paths": circumstances.contract.get("allowed_paths"),
    },
    "command": _command,
    "actor": _actor,
    "step_up": lambda circumstances: None if circumstances.step_up is None else dict(circumstances.step_up),
    "resource": lambda _circumstances: None,
    "trust": lambda circumstances: {
        "declared_level": circumstances.declared_level,
        "effective_level": circumstances.effective_level,
    },
}


def evaluate(
    authorization: Mapping[str, Any], circumstances: Circumstances, surroundings: Surroundings
) -> Json:
    """The described decision. FlowError when the provider is unknown, its profile invalid, or it cannot be asked."""
    provider = authorization.get("provider")
    if not isinstance(provider, str) or provider not in known("authorizers"):
        raise FlowError("unknown_authorization_provider", f"Unknown authorization provider: {provider}")
    found: Authorizer = entry("authorizers", provider)
    problems = found.check(authorization)
    if problems:
        where, what = problems[0]
        raise FlowError("authorization_error", f"Authorization profile is invalid: {where} {what}")
    include = (authorization.get("request") or {}).get("include")
    request = policy_request(circumstances, include)
    try:
        raw = found.evaluate(authorization.get("provider_config") or {}, request, surroundings)
    except (NotAllowed, PolicyEnded):
        raise
    except FlowError as error:
        if authorization.get("on_error") != "warn":
            raise FlowError("authorization_error", f"Authorization failed: {error.message}") from None
        return described(PERMIT, provider, _WARNED, None)
    decision = mapped(raw["value"], authorization.get("decision"))
    return described(decision, provider, raw.get("reason"), raw.get("policy_ref"))


def mapped(value: Any, lists: Mapping[str, Any] | None) -> str:
    """A raw answer as one of the three decisions."""
    lists = lists or {}
    by_list = {
        PERMIT: lists.get("allow_values") or [],
        DENY: lists.get("deny_values") or [],
        ESCALATE: lists.get("escalate_values") or [],
    }
    if any(by_list.values()):
        # A value in two lists is a contradiction; the stricter meaning applies.
        for decision in (DENY, ESCALATE, PERMIT):
            if value in by_list[decision]:
                return decision
        return DENY
    return value if value in (PERMIT, DENY, ESCALATE) else DENY


def described(decision: str, provider: str, reason: Any, policy_ref: str | None) -> Json:
    """A decision as results and audit records show it. A policy may repeat its input in its reason."""
    shown = redact_text(reason)[:_REASON_LIMIT] if isinstance(reason, str) else None
    return {
        "decision": decision,
        "provider": provider,
        "reason": shown,
        "policy_ref": policy_ref,
        "escalation": {"required": True, "reason": shown} if decision == ESCALATE else None,
    }


def enforce(decision: Mapping[str, Any]) -> None:
    """Nothing for permit; FlowError for everything else."""
    reason = f": {decision['reason']}" if decision.get("reason") else ""
    if decision["decision"] == ESCALATE:
        raise FlowError("authorization_escalation_required", f"Authorization requires escalation{reason}")
    if decision["decision"] != PERMIT:
        raise FlowError("authorization_denied", f"Authorization denied{reason}")
