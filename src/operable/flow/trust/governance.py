"""May this task run, and under which identity: proof, identity, trust and authorization of one task, in this order.

Each step is a function of its own, because the protocol also asks for them one by one; `execute` goes through all of them.
Sessions hold credentials: the caller that resolves an identity releases it (`release`), also when a later step refuses.

`actor_context` and `step_up` say who acts, for whom, and how strongly that was proven.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from operable.flow.compile.binding import identity_binding
from operable.flow.contracts import IdentityRequest
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import first
from operable.flow.manifest.selection import Selected
from operable.flow.run.caller import Allowance, Bound, Caller
from operable.flow.trust.identity.sessions import (
    described_session,
    exceeds,
    release_session,
    resolve_identity,
    secrets_of,
)
from operable.flow.trust.policy.authorization import Circumstances, evaluate
from operable.flow.trust.proof_verification import verify_proof
from operable.kernel.data_class import dataclass

Json = dict[str, Any]
_FACTS = ("org_id", "on_behalf_of_user_id", "delegation_grant_id", "run_id")


@dataclass(slots=True)
class Identified:
    """The identity that a task runs as. `session` has the credentials and is never shown; `resolved` is what may be."""

    declared: Json | None
    resolved: Json | None
    principal: str
    trust: Json | None
    session: Json | None = field(default=None, repr=False)
    request: IdentityRequest | None = None
    secrets: tuple[str, ...] = field(
        default=(), repr=False
    )  # outlive the session: to be masked wherever they appear

    def release(self) -> None:
        """Give back what was made for this session. FlowError when that fails; twice is once."""
        session, self.session = self.session, None
        if session is not None and self.request is not None:
            release_session(session, self.request)


def prove(selected: Selected, bound: Bound, caller: Caller, allowance: Allowance) -> Json | None:
    """The verified proof; None when the task has none. Commands that give proofs learn what is to be proven."""
    proof = inheritance.effective_proof(selected.manifest, selected.workflow, selected.task)
    variables = {
        "AGENTCLI_MANIFEST_DIGEST": bound.manifest_digest,
        "AGENTCLI_EFFECTIVE_TASK_HASH": bound.task_hash,
    }
    around = allowance.surroundings(selected, bound, caller)
    around = replace(around, environment={**caller.environment, **variables})
    return verify_proof(proof, selected.original, around, variables=variables)


def require_proof(selected: Selected, bound: Bound, caller: Caller, allowance: Allowance) -> Json:
    """The proof of a task that must have one."""
    if not selected.governed:
        raise invalid_argument("Authorization proof verification requires a version 0.2 manifest")
    found = prove(selected, bound, caller, allowance)
    if found is None:
        raise invalid_argument(
            "Authorization proof verification requires a resolved authorization_proof block"
        )
    return found


def identify(
    selected: Selected,
    bound: Bound,
    caller: Caller,
    allowance: Allowance,
    *,
    instance_id: str | None = None,
    tolerate_handoff: bool = False,
) -> Identified:
    """Resolve the identity of a task, credentials included."""
    identity = inheritance.effective_identity(selected.manifest, selected.workflow, selected.task)
    if not selected.governed or identity is None:
        flat = inheritance.declared_identity(selected.workflow, selected.task)
        named = flat.get("principal") or ((flat.get("subject") or {}).get("principal"))
        shown = None if selected.governed else identity_binding(identity)
        return Identified(shown, None, named or caller.principal, None)
    request = IdentityRequest(
        identity=identity,
        surroundings=allowance.surroundings(selected, bound, caller),
        workflow_id=selected.workflow["id"],
        task_id=selected.task["id"],
        instance_id=instance_id,
    )
    session = resolve_identity(request, tolerate_handoff=tolerate_handoff)
    subject = (session or identity)["subject"]
    return Identified(
        declared=declared(identity),
        resolved=described_session(session),
        principal=subject.get("principal") or caller.principal,
        trust=_trust(identity, session),
        session=session,
        request=request,
        secrets=tuple(secrets_of(session)),
    )


def declared(identity: Mapping[str, Any]) -> Json:
    """What an identity says of itself, in short."""
    subject = identity["subject"]
    return {
        "provider": identity.get("provider") or "none",
        "subject": {name: subject.get(name) for name in ("principal", "kind", "issuer")},
        "trust_level": identity["trust"]["level"],
    }


def _trust(identity: Mapping[str, Any], session: Mapping[str, Any] | None) -> Json:
    if session is not None:
        return {name: session["trust"][name] for name in ("declared_level", "effective_level")}
    level, ceiling = identity["trust"]["level"], identity["trust"]["constraints"]["max_autonomy"]
    over = level is not None and ceiling is not None and exceeds(level, ceiling)
    return {"declared_level": level, "effective_level": ceiling if over else level}


def actor_of(selected: Selected, identified: Identified, proof: Json | None) -> Json:
    return actor_context(
        identity=inheritance.effective_identity(selected.manifest, selected.workflow, selected.task),
        session=identified.resolved,
        proof=proof,
        agent_id=selected.task["target"].get("agent_id"),
        principal=identified.principal,
    )


def authorize(
    selected: Selected,
    bound: Bound,
    identified: Identified,
    proof: Json | None,
    caller: Caller,
    allowance: Allowance,
    *,
    required: bool = False,
) -> Json | None:
    """The decision, whatever it is; None if the task needs no decision."""
    authorization = inheritance.effective_authorization(selected.manifest, selected.workflow, selected.task)
    if authorization is None:
        if required:
            raise invalid_argument("--require-authorization specified but no authorization block resolved")
        return None
    trust, shell = identified.trust or {}, selected.task.get("shell")
    circumstances = Circumstances(
        workflow_id=selected.workflow["id"],
        task_id=selected.task["id"],
        principal=identified.principal,
        declared_level=trust.get("declared_level"),
        effective_level=trust.get("effective_level"),
        contract=inheritance.merged_contract(selected.workflow, selected.task),
        command=shell,
        actor_context=actor_of(selected, identified, proof),
        step_up=step_up(proof),
    )
    return evaluate(authorization, circumstances, allowance.surroundings(selected, bound, caller))


def refuse_handoff(selected: Selected) -> None:
    """Credentials cannot be handed on to another runtime from here."""
    identity = inheritance.effective_identity(selected.manifest, selected.workflow, selected.task)
    handoff = ((identity or {}).get("presentation") or {}).get("handoff")
    if handoff not in (None, "none"):
        message = f'Credential handoff "{handoff}" is unsupported by the local runtime'
        raise FlowError("unsupported_capability", message)


# Whether the trust of an identity is enough for the contract of a task.


def enforce_trust(contract: Mapping[str, Any], trust: Mapping[str, Any] | None) -> list[str]:
    """Warnings; FlowError(trust_level_insufficient) when the contract is strict. `trust` is a session's, or None.

    A contract that requires a level and does not say how it is enforced warns: only `none` is silent.
    A level above its own ceiling (`max_autonomy`) counts as the ceiling: that is the session's effective level.
    """
    required, enforcement = contract.get("required_trust_level"), contract.get("trust_enforcement")
    if required is None or enforcement == "none":
        return []
    declared = (trust or {}).get("declared_level")
    if declared is None:
        message = f'Trust level is not declared but contract requires "{required}"'
    else:
        level = (trust or {}).get("effective_level") or declared
        if not exceeds(required, level):
            return []
        message = f'Trust level "{level}" is below required "{required}"'
    if enforcement == "strict":
        raise FlowError("trust_level_insufficient", message)
    return [f"{message} (advisory)"]


# Who acts, for whom, and how strongly that was proven: the actor context and the step-up of a task.
# Values come from the claims of a verified proof first, then from the attributes that the manifest declares. Claims of
# a proof that was not verified count for nothing.
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
