"""The shape of identity declarations and identity profiles; what their providers allow is checked elsewhere."""

import re
from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.findings import ENVIRONMENT_NAME, Findings

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")


def is_structured(identity: Any) -> bool:
    """Whether a declaration has the form of 0.2: one of its members is set."""
    return isinstance(identity, dict) and any(identity.get(name) is not None for name in vocabulary.IDENTITY)


def check_identity(findings: Findings, value: Any, path: str) -> None:
    """A declaration on a workflow, a task or a handler, in either form."""
    identity = findings.object(value, path)
    if identity is None:
        return
    if not is_structured(identity):
        findings.token(identity.get("principal"), f"{path}.principal")
        findings.token(identity.get("run_as"), f"{path}.run_as")
        findings.string(identity.get("attestation"), f"{path}.attestation")
        return
    findings.string(identity.get("ref"), f"{path}.ref")
    findings.string(identity.get("scope"), f"{path}.scope")
    check_identity_parts(findings, identity, path)


def check_identity_parts(findings: Findings, owner: dict[str, Any], path: str) -> None:
    """subject, auth, trust and presentation, which declarations and profiles share."""
    subject = findings.object(owner.get("subject"), f"{path}.subject")
    if subject is not None:
        _check_subject(findings, subject, f"{path}.subject")
    auth = findings.object(owner.get("auth"), f"{path}.auth")
    if auth is not None:
        _check_auth(findings, auth, f"{path}.auth")
    trust = findings.object(owner.get("trust"), f"{path}.trust")
    if trust is not None:
        _check_trust(findings, trust, f"{path}.trust")
    presentation = findings.object(owner.get("presentation"), f"{path}.presentation")
    if presentation is not None:
        _check_presentation(findings, presentation, f"{path}.presentation")


def _check_subject(findings: Findings, subject: dict[str, Any], path: str) -> None:
    findings.enum(subject.get("kind"), f"{path}.kind", vocabulary.SUBJECT_KINDS)
    for name in ("principal", "display_name"):
        findings.string(subject.get(name), f"{path}.{name}")
    findings.token(subject.get("run_as"), f"{path}.run_as")
    findings.string(subject.get("issuer"), f"{path}.issuer")
    findings.enum(subject.get("delegation_mode"), f"{path}.delegation_mode", vocabulary.DELEGATION_MODES)
    findings.object(subject.get("attributes"), f"{path}.attributes")


def _check_auth(findings: Findings, auth: dict[str, Any], path: str) -> None:
    findings.enum(auth.get("mode"), f"{path}.mode", vocabulary.AUTH_MODES)
    findings.array(auth.get("scopes"), f"{path}.scopes")
    findings.string(auth.get("audience"), f"{path}.audience")
    findings.string(auth.get("resource"), f"{path}.resource")
    findings.enum(auth.get("cache"), f"{path}.cache", ["none", "memory", "state"])
    findings.enum(auth.get("refresh"), f"{path}.refresh", ["never", "manual", "auto"])
    findings.boolean(auth.get("required"), f"{path}.required")
    policy = findings.object(auth.get("delegation_policy"), f"{path}.delegation_policy")
    if policy is not None:
        place = f"{path}.delegation_policy"
        findings.integer(policy.get("max_depth"), f"{place}.max_depth", 1)
        findings.array(policy.get("allowed_delegators"), f"{place}.allowed_delegators")
        findings.boolean(policy.get("require_grant_per_hop"), f"{place}.require_grant_per_hop")
    findings.object(auth.get("provider_config"), f"{path}.provider_config")
    findings.object(auth.get("inputs"), f"{path}.inputs")


def _check_trust(findings: Findings, trust: dict[str, Any], path: str) -> None:
    findings.enum(trust.get("level"), f"{path}.level", vocabulary.TRUST_LEVELS)
    constraints = findings.object(trust.get("constraints"), f"{path}.constraints")
    if constraints is not None:
        place = f"{path}.constraints"
        escalations = ["fail", "human-approval", "log-and-proceed"]
        findings.enum(constraints.get("escalation"), f"{place}.escalation", escalations)
        findings.enum(constraints.get("max_autonomy"), f"{place}.max_autonomy", vocabulary.TRUST_LEVELS)
        findings.string(constraints.get("escalation_timeout"), f"{place}.escalation_timeout")
        findings.boolean(constraints.get("require_justification"), f"{place}.require_justification")


def _check_presentation(findings: Findings, presentation: dict[str, Any], path: str) -> None:
    bindings = findings.array(presentation.get("bindings"), f"{path}.bindings") or []
    for index, binding in enumerate(bindings):
        place = f"{path}.bindings[{index}]"
        if isinstance(binding, dict):
            _check_binding(findings, binding, place)
        else:
            findings.error(place, "must be an object")
    handoffs = ["none", "downscope", "transaction-token"]
    findings.enum(presentation.get("handoff"), f"{path}.handoff", handoffs)
    cleanups = ["always", "on-success", "on-failure", "never"]
    findings.enum(presentation.get("cleanup"), f"{path}.cleanup", cleanups)
    findings.boolean(presentation.get("default_redaction"), f"{path}.default_redaction")


def _check_binding(findings: Findings, binding: dict[str, Any], path: str) -> None:
    findings.string(binding.get("source"), f"{path}.source", required=True)
    target = findings.object(binding.get("target"), f"{path}.target")
    if target is not None:
        findings.enum(target.get("kind"), f"{path}.target.kind", ["env", "file", "stdin", "none"])
        findings.string(target.get("name"), f"{path}.target.name")
        prefix, expose_as = target.get("prefix"), target.get("expose_as")
        if prefix is not None and not (isinstance(prefix, str) and _PREFIX.match(prefix)):
            findings.error(f"{path}.target.prefix", "must be a safe file prefix of at most 80 characters")
        if expose_as is not None and not (isinstance(expose_as, str) and ENVIRONMENT_NAME.match(expose_as)):
            findings.error(f"{path}.target.expose_as", "must be a valid environment variable name")
    findings.boolean(binding.get("required"), f"{path}.required")
    findings.boolean(binding.get("redact"), f"{path}.redact")
    findings.enum(binding.get("format"), f"{path}.format", ["raw", "json", "base64"])
