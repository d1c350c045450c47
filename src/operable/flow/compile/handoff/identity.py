"""The identity that a handed-off task runs as: what the artifact says of identity, of presenting credentials, and of
delegation.

It never contains the credentials themselves: a source is there as its hash, a target as the name of a variable or file.
"""

from typing import Any

from operable.flow.canonical import canonical_digest, hash_text
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json, first

_DEEPEST = 16


def identity_section(identity: Json | None, binding: Json, session_target: str) -> Json:
    subject, trust = binding["subject"], binding["trust"]
    return {
        "ref": binding["ref"],
        "provider": binding["provider"],
        "scope": binding["scope"],
        "subject_kind": subject["kind"],
        "subject_principal": subject["principal"],
        "subject_hash": canonical_digest(subject),
        "auth_hash": canonical_digest(binding["auth"]),
        "trust_level": trust["level"],
        "delegation_mode": subject["delegation_mode"],
        "presentation": _presentation((identity or {}).get("presentation") or {}, session_target),
    }


def _presentation(presentation: Json, session_target: str) -> Json:
    bindings = [_binding(each, presentation, session_target) for each in presentation.get("bindings") or []]
    media = {each["medium"] for each in bindings} - {"none"}
    if len(media) > 1:
        raise FlowError(
            "HANDOFF_PRESENTATION_MIXED_MEDIA", "presentation bindings of one task must use one medium"
        )
    return {
        "mode": first(presentation.get("handoff"), "none"),
        "handoff": media.pop() if media else "none",
        "bindings": bindings,
        "default_redaction": presentation.get("default_redaction"),
        "cleanup": first(presentation.get("cleanup"), "always"),
    }


def _binding(binding: Json, presentation: Json, session_target: str) -> Json:
    target = binding.get("target") or {}
    kind = first(target.get("kind"), "none")
    medium = {
        "env": "gateway-env-header" if session_target == "isolated" else "env",
        "file": "temp-file",
        "stdin": "stdin",
    }.get(kind, "none")
    return {
        "name": first(binding.get("name"), binding["source"]),
        "medium": medium,
        "env_key": target.get({"env": "name", "file": "expose_as"}.get(kind, "")),
        "file_name": first(target.get("name"), target.get("prefix")) if kind == "file" else None,
        "source_hash": hash_text(binding["source"]),
        "required": first(binding.get("required"), True),
        "redact": first(binding.get("redact"), presentation.get("default_redaction"), True),
        "format": first(binding.get("format"), "raw"),
    }


def delegation_section(identity: Json | None, plan: Json) -> Json:
    policy: Json = ((identity or {}).get("auth") or {}).get("delegation_policy") or {}
    mode = ((identity or {}).get("subject") or {}).get("delegation_mode")
    delegators = _names(policy.get("allowed_delegators") or [])
    return {
        "mode": mode,
        "source_binding": "source_run_id",
        "max_depth": first(policy.get("max_depth"), plan["budgets"]["max_iterations"], _DEEPEST),
        "target_scope": (identity or {}).get("scope"),
        "allowed_delegators": delegators,
        "allowed_delegators_hash": canonical_digest(delegators),
        "require_grant_per_hop": first(policy.get("require_grant_per_hop"), mode not in (None, "none")),
    }


def _names(delegators: list[Any]) -> list[str]:
    """Sorted and unique. The validator takes any list here; a reader of artifacts takes names only."""
    for position, name in enumerate(delegators):
        if not isinstance(name, str):
            place = f"artifact.delegation.allowed_delegators[{position}]"
            raise FlowError("HANDOFF_ARTIFACT_INVALID", f"{place} must be string")
    return sorted(set(delegators), key=lambda name: name.encode("utf-16-be", "surrogatepass"))
