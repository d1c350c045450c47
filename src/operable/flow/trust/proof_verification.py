"""Verifying the authorization proof of a task: profile, value, verification, and when a failure stops the task.

A proof is mandatory whenever its method is not `none`; `verify.required: false` does not make it optional. Secrets never
reach a message: a proof that cannot be read or is not valid is described by its profile and a reason.
"""

import time
from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_digest, spelled
from operable.flow.contracts import HandoffContext, Proof, ProofRequest, Surroundings, entry, known, listed
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.trust.value_sources import read_value

Json = dict[str, Any]


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
