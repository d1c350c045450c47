"""What applies to one task: its own words over its workflow's over the profile that they name.

Identity is merged in two stages (task over workflow, then both over the profile); the references may only be
tightened on the way in: what an outer level requires, an inner one cannot waive. A null falls through; false, 0 and
"" do not.
"""

from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.failure_handlers import ExpandedManifest
from operable.flow.manifest.profile_rules import is_structured

Json = dict[str, Any]


def first(*values: Any) -> Any:
    """JavaScript's `??`."""
    return next((value for value in values if value is not None), None)


def merge_keys(names: list[str], *inner_to_outer: Json | None) -> Json:
    """Member by member, the innermost that says something wins; absent members are null."""
    return {name: first(*((block or {}).get(name) for block in inner_to_outer)) for name in names}


def merged_contract(workflow: Json, task: Json) -> Json:
    return merge_keys(vocabulary.BLOCKS["contract"], task.get("contract"), workflow.get("contract"))


def merged_model_policy(workflow: Json, task: Json) -> Json:
    return merge_keys(
        vocabulary.BLOCKS["model_policy"], task.get("model_policy"), workflow.get("model_policy")
    )


def merged_verify(workflow: Json, task: Json) -> Json | None:
    """A task's own block replaces the workflow's whole block."""
    block = first(task.get("verify"), workflow.get("verify"))
    if block is None:
        return None
    return {
        "shell": block["shell"],
        "timeout_seconds": first(block.get("timeout_seconds"), 30),
        "on_failure": first(block.get("on_failure"), "error"),
    }


def child_policy(workflow: Json, task: Json) -> str | None:
    found: str | None = first(task.get("child_credential_policy"), workflow.get("child_credential_policy"))
    return found


def declared_identity(workflow: Json, task: Json) -> Json:
    """Stage A: the task's declaration over the workflow's; flat when neither uses the form of 0.2."""
    inner, outer = task.get("identity"), workflow.get("identity")
    if not is_structured(inner) and not is_structured(outer):
        return merge_keys(vocabulary.FLAT_IDENTITY, inner, outer)
    return overlay_identity(inner, outer)


def overlay_identity(inner: Json | None, outer: Json | None) -> Json:
    """The full skeleton of a 0.2 identity, every unset leaf null."""
    inner, outer = inner or {}, outer or {}
    merged = merge_keys(["ref", "scope"], inner, outer)
    merged["subject"] = merge_keys(vocabulary.SUBJECT, inner.get("subject"), outer.get("subject"))
    merged["auth"] = _merged_auth(inner.get("auth") or {}, outer.get("auth") or {})
    inner_trust, outer_trust = inner.get("trust") or {}, outer.get("trust") or {}
    merged["trust"] = {
        "level": first(inner_trust.get("level"), outer_trust.get("level")),
        "constraints": merge_keys(
            vocabulary.CONSTRAINTS, inner_trust.get("constraints"), outer_trust.get("constraints")
        ),
    }
    merged["presentation"] = merge_keys(
        vocabulary.PRESENTATION, inner.get("presentation"), outer.get("presentation")
    )
    return merged


def _merged_auth(inner: Json, outer: Json) -> Json:
    plain = "mode scopes audience resource cache refresh required".split()
    merged = merge_keys(plain, inner, outer)
    policy = merge_keys(
        vocabulary.DELEGATION_POLICY, inner.get("delegation_policy"), outer.get("delegation_policy")
    )
    merged["delegation_policy"] = None if all(value is None for value in policy.values()) else policy
    for name in ("provider_config", "inputs"):
        merged[name] = {**(outer.get(name) or {}), **(inner.get(name) or {})} or None
    return merged


def effective_identity(manifest: Json, workflow: Json, task: Json) -> Json | None:
    """Stages A and B: the declaration over the profile that it names. None when there is no identity of the 0.2 form."""
    declared = declared_identity(workflow, task)
    if "ref" not in declared:
        return None
    profile = profile_of(manifest, "identity_profiles", declared["ref"])
    merged = overlay_identity(declared, profile)
    merged["ref"] = first(declared["ref"], (profile or {}).get("id"))
    merged["provider"] = (profile or {}).get("provider")
    # What a profile configures for its provider is the outermost layer of the provider's configuration.
    config = {**((profile or {}).get("provider_config") or {}), **(merged["auth"]["provider_config"] or {})}
    merged["provider_config"] = config or None
    return merged


def profile_of(manifest: Json, array: str, ref: str | None) -> Json | None:
    """The profile that a reference names. Every task asks: an expanded manifest has them by their ids."""
    if isinstance(manifest, ExpandedManifest):
        return manifest.profile(array, ref)
    return next((profile for profile in manifest.get(array) or [] if profile.get("id") == ref), None)


def declared_proof(workflow: Json, task: Json) -> Json | None:
    """The reference to a proof profile with its overlays; None without one."""
    inner, outer = task.get("authorization_proof") or {}, workflow.get("authorization_proof") or {}
    ref = first(inner.get("ref"), outer.get("ref"))
    if ref is None:
        return None
    return {
        "ref": ref,
        "claims": {**(outer.get("claims") or {}), **(inner.get("claims") or {})} or None,
        "verify": {"required": tightened(_required(outer), _required(inner))},
    }


def effective_proof(manifest: Json, workflow: Json, task: Json) -> Json | None:
    """The same over its profile, with every member of a profile."""
    declared = declared_proof(workflow, task)
    if declared is None:
        return None
    profile = profile_of(manifest, "authorization_proof_profiles", declared["ref"]) or {}
    names = [name for name in vocabulary.PROOF_PROFILE if name not in ("id", "claims", "verify")]
    return {
        "ref": declared["ref"],
        **{name: profile.get(name) for name in names},
        "claims": {**(profile.get("claims") or {}), **(declared["claims"] or {})} or None,
        "verify": {"required": tightened(_required(profile), declared["verify"]["required"])},
    }


def declared_authorization(workflow: Json, task: Json) -> Json | None:
    inner, outer = task.get("authorization") or {}, workflow.get("authorization") or {}
    ref = first(inner.get("ref"), outer.get("ref"))
    if ref is None:
        return None
    return {"ref": ref, **_overlay_authorization(inner, outer)}


def effective_authorization(manifest: Json, workflow: Json, task: Json) -> Json | None:
    declared = declared_authorization(workflow, task)
    if declared is None:
        return None
    profile = profile_of(manifest, "authorization_profiles", declared["ref"]) or {}
    return {
        "ref": declared["ref"],
        "provider": profile.get("provider"),
        **_overlay_authorization(declared, profile),
    }


def _overlay_authorization(inner: Json, outer: Json) -> Json:
    return {
        "provider_config": {**(outer.get("provider_config") or {}), **(inner.get("provider_config") or {})}
        or None,
        # An outer deny cannot become a warning.
        "on_error": "deny"
        if outer.get("on_error") == "deny"
        else first(inner.get("on_error"), outer.get("on_error")),
        "request": first(inner.get("request"), outer.get("request")),
        "decision": first(inner.get("decision"), outer.get("decision")),
    }


def declared_evidence(workflow: Json, task: Json) -> Json | None:
    inner, outer = task.get("evidence") or {}, workflow.get("evidence") or {}
    ref = first(inner.get("ref"), outer.get("ref"))
    if ref is None:
        return None
    return {"ref": ref, **_overlay_evidence(inner, outer)}


def effective_evidence(manifest: Json, workflow: Json, task: Json) -> Json | None:
    declared = declared_evidence(workflow, task)
    if declared is None:
        return None
    profile = profile_of(manifest, "evidence_profiles", declared["ref"]) or {}
    return {
        "ref": declared["ref"],
        "provider": profile.get("provider"),
        "methods": profile.get("methods"),
        "provider_config": profile.get("provider_config"),
        **_overlay_evidence(declared, profile),
    }


def _overlay_evidence(inner: Json, outer: Json) -> Json:
    return {
        "payload": merge_keys(vocabulary.PAYLOAD, inner.get("payload"), outer.get("payload")),
        "verify": {"required": tightened(_required(outer), _required(inner))},
    }


def tightened(outer: bool | None, inner: bool | None) -> bool | None:
    """An outer true stays; else the inner word, else the outer one."""
    return True if outer is True else first(inner, outer)


def _required(block: Json) -> bool | None:
    found: bool | None = (block.get("verify") or {}).get("required")
    return found
