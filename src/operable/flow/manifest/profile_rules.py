"""The rules for profiles: the shape of identities, and what providers and proof methods ask of the profiles that name them.

The first apply to both versions, the second are the structural checks of 0.2 manifests.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from operable.flow.contracts import Identity, entry, known
from operable.flow.manifest import vocabulary
from operable.flow.manifest.findings import ENVIRONMENT_NAME, Findings, js_trim

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
_ENDPOINTS = ("token_endpoint", "api_base", "authority")
_DELEGATED_MODES = ("delegated", "on-behalf-of", "impersonation", "exchange")
_PRIVATE_SOURCES = ("provider_assertions", "delegation_chain")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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


# What providers and proof methods ask of their profiles: the structural checks of 0.2 manifests.
# Common rules for identity profiles are here, because they follow from the capabilities that a provider states; what
# only one provider knows is in its own file.
def check_providers(findings: Findings, manifest: dict[str, Any]) -> None:
    """All profiles of a 0.2 manifest, in their order."""
    for path, profile in _profiles(manifest, "identity_profiles"):
        provider = profile.get("provider")
        if not isinstance(provider, str) or not provider:
            continue
        if provider not in known("identities"):
            findings.error(f"{path}.provider", f'unknown identity provider "{provider}"')
            continue
        found: Identity = entry("identities", provider)
        for message in (*common_identity_problems(found, profile), *found.check(profile)):
            findings.error(path, message)
    for array, folder, member, word in (
        ("authorization_proof_profiles", "proofs", "method", "verifier method"),
        ("authorization_profiles", "authorizers", "provider", "authorization provider"),
        ("evidence_profiles", "evidences", "provider", "evidence provider"),
    ):
        for path, profile in _profiles(manifest, array):
            name = profile.get(member)
            if not isinstance(name, str) or not name:
                continue
            if name not in known(folder):
                if folder != "proofs":  # the enumeration has already said so
                    findings.error(f"{path}.{member}", f'unknown {word} "{name}"')
                continue
            for field, message in entry(folder, name).check(profile):
                findings.error(f"{path}.{field}", message)


def _profiles(manifest: dict[str, Any], array: str) -> Iterator[tuple[str, dict[str, Any]]]:
    profiles = manifest.get(array)
    if isinstance(profiles, list):
        for index, profile in enumerate(profiles):
            if isinstance(profile, dict):
                yield f"$.{array}[{index}]", profile


def common_identity_problems(provider: Identity, profile: dict[str, Any]) -> Iterator[str]:
    """What follows from the provider's capabilities."""
    able = provider.capabilities
    auth, trust = _block(profile, "auth"), _block(profile, "trust")
    mode = auth.get("mode")
    if isinstance(mode, str) and mode not in able["auth_modes"]:
        yield f'auth.mode "{mode}" is not supported by provider "{provider.name}"'
    scopes = auth.get("scopes")
    if isinstance(scopes, list) and not all(isinstance(scope, str) and js_trim(scope) for scope in scopes):
        yield "auth.scopes must contain only non-empty strings"
    cache = auth.get("cache")
    if isinstance(cache, str) and cache != "none" and cache not in able.get("cache_modes", ()):
        yield f'auth.cache "{cache}" is not supported by provider "{provider.name}"'
    refresh = auth.get("refresh")
    if isinstance(refresh, str) and refresh != "never" and not able["refreshable"]:
        yield f'auth.refresh "{refresh}" is not supported by provider "{provider.name}"'
    level = trust.get("level")
    if isinstance(level, str) and level not in able["trust_levels"]:
        yield f'trust.level "{level}" is not supported by provider "{provider.name}"'
    if not able["delegation"] and _delegates(profile, auth):
        yield f'delegation is not supported by provider "{provider.name}"'
    yield from _presentation_problems(provider, _block(profile, "presentation"))
    for config in (_block(profile, "provider_config"), _block(auth, "provider_config")):
        for name in _ENDPOINTS:
            if (url := config.get(name)) is not None and not is_safe_endpoint(url):
                yield f"{name} must be an https URL (http only for loopback) without credentials"


def _delegates(profile: dict[str, Any], auth: dict[str, Any]) -> bool:
    declared = _block(profile, "subject").get("delegation_mode")
    policy = _block(auth, "delegation_policy")
    return (
        declared not in (None, "none")
        or any(value is not None for value in policy.values())
        or auth.get("mode") in _DELEGATED_MODES
    )


def _presentation_problems(provider: Identity, presentation: dict[str, Any]) -> Iterator[str]:
    able = provider.capabilities
    handoff = presentation.get("handoff")
    if isinstance(handoff, str) and handoff != "none" and handoff not in able["handoff_modes"]:
        yield f'presentation.handoff "{handoff}" is not supported by provider "{provider.name}"'
    bindings = presentation.get("bindings")
    stdin = 0
    for index, binding in enumerate(bindings if isinstance(bindings, list) else []):
        place = f"presentation.bindings[{index}]"
        if not isinstance(binding, dict):
            continue
        source = binding.get("source")
        if isinstance(source, str) and source.split(".")[0] in _PRIVATE_SOURCES:
            yield f"{place}.source must not read {source.split('.')[0]}"
        target = binding.get("target")
        if not isinstance(target, dict):
            yield f"{place}.target is required"
            continue
        kind, name = target.get("kind"), target.get("name")
        if isinstance(kind, str) and kind != "none" and kind not in able["presentation_kinds"]:
            yield f'{place}.target.kind "{kind}" is not supported by provider "{provider.name}"'
        if kind == "env" and not (isinstance(name, str) and ENVIRONMENT_NAME.match(name)):
            yield f"{place}.target.name must be a valid environment variable name"
        if kind == "file" and isinstance(name, str) and ("/" in name or "\\" in name or name in (".", "..")):
            yield f"{place}.target.name must be a file name without path components"
        stdin += kind == "stdin"
    if stdin > 1:
        yield "presentation.bindings may contain at most one stdin target"


def is_safe_endpoint(url: Any) -> bool:
    """https, or http on this machine; and no user or password in it."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username is not None or parts.password is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


def _block(owner: Any, name: str) -> dict[str, Any]:
    block = owner.get(name) if isinstance(owner, dict) else None
    return block if isinstance(block, dict) else {}
