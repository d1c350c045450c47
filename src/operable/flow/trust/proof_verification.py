"""Verifying the authorization proof of a task: profile, value, verification, and when a failure stops the task.

A proof is mandatory whenever its method is not `none`; `verify.required: false` does not make it optional. Secrets never
reach a message: a proof that cannot be read or is not valid is described by its profile and a reason.

`proof_source_problems` and what follows it is shared by the methods in `flow/proofs`.
"""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from operable.flow.canonical import canonical_digest, canonical_text, spelled
from operable.flow.contracts import HandoffContext, Proof, ProofRequest, Surroundings, entry, known, listed
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.trust.identity.sessions import timestamp
from operable.flow.trust.value_sources import SOURCES, read_value

SKEW = 60.0  # seconds by which the clocks of two machines may differ
SCHEMA = "openclaw.scheduler.authorization-proof"
_LONGEST_NONCE = 1024
_LATEST = 253_402_300_799  # the last second of the year 9999
Json = dict[str, Any]


# What proof methods share: the rules for where a proof comes from, v4 mode, and how results look.
# In v4 mode (`HandoffContext`) a proof is bound to one artifact, lives for a stated time, and is used once. The order
# of the last checks matters: revocation and replay are asked only after the signature was good, so that an unknown
# party's proof can neither learn about keys nor use up a nonce. A checker or store that is missing, fails or does not
# know counts as a refusal.
class Unproven(Exception):  # noqa: N818 - the verdict of a method, with its reason
    """The proof is not valid. The text is the `reason` of the result and repeats nothing of the proof."""


def proof_source_problems(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What every method with a proof asks of the profile's `proof.value_from`."""
    proof = profile.get("proof")
    if not isinstance(proof, Mapping):
        return [("proof", "is required")]
    block = proof.get("value_from")
    given = [name for name in SOURCES if isinstance(block, Mapping) and name in block]
    if "literal" in given:
        return [("proof.value_from.literal", "is not supported: a proof must not be in the manifest")]
    if len(given) != 1:
        return [("proof.value_from", "must include exactly one of: env, file, or command")]
    return []


def result(request: ProofRequest, method: str, **members: Any) -> dict[str, Any]:
    """A result with `verified` false; the method overlays what it has found out."""
    return {
        "verified": False,
        "method": method,
        "issuer": request.profile.get("issuer"),
        "audience": request.profile.get("audience"),
        "claims_validated": False,
        "signature_verified": False,
        "signature_required": True,
        "manifest_binding_required": True,
        "manifest_bound": False,
        "decoded_claims": None,
        "key_id": None,
        "key_source": None,
        "manifest_digest": request.manifest_digest,
        "verified_at": timestamp(request.now),
        "reason": None,
        **members,
    }


def same_digest(one: Any, other: str) -> bool:
    """Digests with or without their prefix."""
    return isinstance(one, str) and one.removeprefix("sha256:") == other.removeprefix("sha256:")


def envelope_text(method: str, envelope: Mapping[str, Any]) -> bytes:
    """What a detached or certificate proof signs in v4 mode."""
    names = "artifact_digest nonce issued_at expires_at key_id".split()
    body = {"schema": SCHEMA, "version": 4, "method": method, **{name: envelope[name] for name in names}}
    return canonical_text(body).encode("utf-8", "surrogatepass")


def check_envelope(envelope: Any, request: ProofRequest, handoff: HandoffContext) -> float:
    """The bindings of a v4 envelope, before its signature; when it expires."""
    if not isinstance(envelope, Mapping):
        raise Unproven("a v4 proof must be a JSON envelope")
    for name in ("signature", "artifact_digest", "nonce", "key_id"):
        if not isinstance(envelope.get(name), str) or not envelope[name]:
            raise Unproven(f"the proof envelope has no {name}")
    if len(envelope["nonce"]) > _LONGEST_NONCE:
        raise Unproven("the proof envelope's nonce is too long")
    if not same_digest(envelope["artifact_digest"], handoff.artifact_digest):
        raise Unproven("the proof is bound to another artifact")
    return check_lifetime(envelope.get("issued_at"), envelope.get("expires_at"), request.now)


def check_lifetime(issued: Any, expires: Any, now: float) -> float:
    """Both times are needed; clocks may differ by a minute."""
    begins, ends = _instant(issued), _instant(expires)
    if begins is None or ends is None or ends <= begins:
        raise Unproven("the proof needs an issue time and a later expiry")
    if begins > now + SKEW:
        raise Unproven("the proof was issued in the future")
    if ends <= now - SKEW:
        raise Unproven("the proof has expired")
    return ends


def claim_once(handoff: HandoffContext, key: str, nonce: str, ends: float) -> None:
    """The last step of v4 mode, after a good signature."""
    if handoff.revoked is None:
        raise Unproven("no revocation checker is configured")
    if handoff.claim_once is None:
        raise Unproven("no replay store is configured")
    for what, name in (("key", key), ("proof", nonce)):
        if _answer(handoff.revoked, name) is not False:
            raise Unproven(f"the {what} is revoked, or its status is unknown")
    if _answer(handoff.claim_once, f"{key}:{nonce}", ends + SKEW) is not True:
        raise Unproven("the proof was already used, or that is unknown")


def _answer(ask: Any, *arguments: Any) -> Any:
    try:
        return ask(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever a checker raises, it refuses
        said = error.strerror if isinstance(error, OSError) else None
        raise Unproven(f"a check failed: {said or type(error).__name__}") from None


def _instant(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= _LATEST else None  # nor is NaN an instant: nothing is later
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return moment.timestamp() if moment.tzinfo is not None else None
    return None


def methods() -> list[str]:
    """The names of all methods, in the order of listings."""
    return [found.name for found in listed("proofs")]


def verify_proof(
    proof: Mapping[str, Any] | None,
    manifest: Any,
    surroundings: Surroundings,
    *,
    variables: Mapping[str, str] | None = None,
    handoff: HandoffContext | None = None,
    now: float | None = None,
) -> Json | None:
    """The result for a merged proof (`inheritance.effective_proof`); None without one. FlowError when it fails.

    `manifest` is the original, unexpanded: proofs are bound to its digest. `variables` are further ones
    for a command that gives the proof.
    """
    if proof is None:
        return None
    method = proof.get("method")
    if not isinstance(method, str) or method not in known("proofs"):
        raise FlowError("unknown_verifier", f"Unknown verifier method: {spelled(method)}")
    found: Proof = entry("proofs", method)
    name = proof.get("ref")
    problems = found.check(proof)
    if problems:
        where, what = problems[0]
        raise FlowError(
            "authorization_proof_invalid", f'Authorization proof profile "{name}" is invalid: {where} {what}'
        )
    value = "" if method == "none" else _value(proof, surroundings, variables)
    result = found.verify(
        ProofRequest(
            profile=proof,
            value=value,
            manifest=manifest,
            manifest_digest=canonical_digest(manifest),
            surroundings=surroundings,
            now=time.time() if now is None else now,
            handoff=handoff,
        )
    )
    if method != "none" and result["verified"] is not True:
        raise FlowError(
            "authorization_proof_failed",
            f'Authorization proof verification failed for profile "{name}": {result.get("reason")}',
        )
    return result


def _value(proof: Mapping[str, Any], surroundings: Surroundings, variables: Mapping[str, str] | None) -> str:
    try:
        return read_value(
            (proof.get("proof") or {}).get("value_from"),
            surroundings,
            code="authorization_proof_failed",
            what="proof",
            variables=variables,
        )
    except NotAllowed:
        raise
    except FlowError as error:
        name = proof.get("ref")
        raise error.restated(
            f'Authorization proof not available for profile "{name}": {error.message}'
        ) from None
