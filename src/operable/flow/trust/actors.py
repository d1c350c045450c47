"""Who acts, for whom, and how strongly that was proven: the actor context and the step-up of a task.

Values come from the claims of a verified proof first, then from the attributes that the manifest declares. Claims of a
proof that was not verified count for nothing.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.manifest.inheritance import first

_FACTS = ("org_id", "on_behalf_of_user_id", "delegation_grant_id", "run_id")


def actor_context(
    *,
    identity: Mapping[str, Any] | None,
    session: Mapping[str, Any] | None,
    proof: Mapping[str, Any] | None,
    agent_id: str | None = None,
    principal: str | None = None,
) -> dict[str, Any]:
    """`identity` is the merged declaration, `principal` an explicit choice of the caller."""
    subject = (identity or {}).get("subject") or {}
    attributes = subject.get("attributes")
    attributes = attributes if isinstance(attributes, Mapping) else {}
    claims = _claims(proof)
    resolved = (session or {}).get("subject") or {}
    return {
        "actor": {
            "principal": first(principal, resolved.get("principal"), subject.get("principal")),
            "kind": first(subject.get("kind"), resolved.get("kind")),
            "display_name": subject.get("display_name"),
        },
        **{name: first(claims.get(name), attributes.get(name)) for name in _FACTS},
        "agent_id": first(agent_id, claims.get("agent_id"), attributes.get("agent_id")),
        "verification": {
            "ref": first(claims.get("verification_ref"), attributes.get("verification_ref")),
            "level": first(claims.get("verification_level"), attributes.get("verification_level")),
            "verified_at": first(
                claims.get("verification_verified_at"), attributes.get("verification_verified_at")
            ),
            "step_up_policy": first(claims.get("step_up_policy"), attributes.get("step_up_policy")),
            "proof_verified": (proof or {}).get("verified") is True,
            "proof_method": (proof or {}).get("method"),
            "proof_issuer": (proof or {}).get("issuer"),
        },
    }


def step_up(proof: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What a policy receives about the proof; None without one."""
    if proof is None:
        return None
    claims = _claims(proof)
    return {
        "verified": proof.get("verified") is True,
        "method": proof.get("method"),
        "issuer": proof.get("issuer"),
        "verified_at": first(claims.get("verification_verified_at"), proof.get("verified_at")),
        "step_up_policy": claims.get("step_up_policy"),
        "verification_ref": claims.get("verification_ref"),
        "verification_level": claims.get("verification_level"),
        "claims": claims or None,
        "reason": proof.get("reason"),
    }


def _claims(proof: Mapping[str, Any] | None) -> dict[str, Any]:
    if proof is None or proof.get("verified") is not True:
        return {}
    claims = proof.get("decoded_claims")
    return dict(claims) if isinstance(claims, Mapping) else {}
