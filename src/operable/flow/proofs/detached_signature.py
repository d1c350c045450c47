"""A signature over the canonical text of the manifest, made elsewhere.

Two forms: base64 of a raw signature (RSA-SHA256, ECDSA-SHA256 in DER, Ed25519, Ed448) checked with the profile's
`public_key`; or an armored SSH signature checked with its `allowed_signers`, `principal` and `namespace` (both `agentcli`
unless said otherwise). In v4 mode the proof is a JSON envelope that is bound to the artifact and used once.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_text
from operable.flow.contracts import Proof, ProofRequest
from operable.flow.trust import proof_verification
from operable.flow.trust.keys.signatures import (
    is_signed,
    is_signing_key,
    key_id,
    public_key,
    signature_bytes,
)
from operable.flow.trust.keys.signers import NAMESPACE, PRINCIPAL
from operable.flow.trust.proof_verification import Unproven
from operable.gate.signatures import ssh_signatures
from operable.gate.signatures.allowed_signers import may_sign, read_signers

_METHOD = "detached-signature"


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = proof_verification.proof_source_problems(profile)
    text = profile.get("public_key")
    if text is None and profile.get("allowed_signers") is None:
        found.append(
            ("verify", "detached-signature proof verification requires public_key or allowed_signers")
        )
    if text is not None:
        try:
            if not is_signing_key(public_key(str(text))):
                found.append(("public_key", "must be an RSA, EC, Ed25519 or Ed448 key"))
        except ValueError as error:
            found.append(("public_key", str(error)))
    return found


def _verify(request: ProofRequest) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    try:
        signature, data, envelope, ends = _signed(request)
        if ssh_signatures.is_armored(signature):
            shown["key_id"], shown["key_source"] = _by_ssh(request, signature, data), "allowed_signers"
        else:
            shown["key_id"], shown["key_source"] = _by_key(request, signature, data), "public_key"
        shown |= {"signature_verified": True, "manifest_bound": True, "claims_validated": True}
        if envelope is not None and request.handoff is not None:
            if envelope["key_id"] != shown["key_id"]:
                raise Unproven("the proof envelope names another key")
            proof_verification.claim_once(request.handoff, shown["key_id"], envelope["nonce"], ends)
    except Unproven as unproven:
        return proof_verification.result(request, _METHOD, **shown, reason=str(unproven))
    return proof_verification.result(request, _METHOD, **shown, verified=True)


def _signed(request: ProofRequest) -> tuple[str, bytes, dict[str, Any] | None, float]:
    """The signature, what it must sign, and in v4 mode the envelope and when it ends."""
    if request.handoff is None:
        text = canonical_text(request.manifest)
        return request.value, text.encode("utf-8", "surrogatepass"), None, 0.0
    try:
        envelope = json.loads(request.value)
    except (ValueError, RecursionError):
        raise Unproven("a v4 proof must be a JSON envelope") from None
    ends = proof_verification.check_envelope(envelope, request, request.handoff)
    return envelope["signature"], proof_verification.envelope_text(_METHOD, envelope), envelope, ends


def _by_key(request: ProofRequest, signature: str, data: bytes) -> str:
    text = request.profile.get("public_key")
    if text is None:
        raise Unproven("the profile has no public_key for a raw signature")
    try:
        key = public_key(text)
    except ValueError as error:
        raise Unproven(f"public_key {error}") from None
    try:
        raw = signature_bytes(signature)
    except ValueError as error:
        raise Unproven(str(error)) from None
    if not is_signed(key, raw, data):
        raise Unproven("the signature does not verify")
    return key_id(key)


def _by_ssh(request: ProofRequest, signature: str, data: bytes) -> str:
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    profile = request.profile
    path = profile.get("allowed_signers")
    if path is None:
        raise Unproven("the profile has no allowed_signers for an SSH signature")
    principal = profile.get("principal") or PRINCIPAL
    namespace = profile.get("namespace") or NAMESPACE
    try:
        parsed = ssh_signatures.parse(signature)
    except ValueError as error:
        raise Unproven(str(error)) from None
    try:
        signers = read_signers(os.path.join(request.surroundings.cwd, path))
    except ValueError as error:
        raise Unproven(f"allowed_signers {error}") from None
    if parsed.namespace != namespace:
        raise Unproven("the SSH signature is for another namespace")
    if not may_sign(
        signers, principal=principal, key=parsed.public_blob, namespace=namespace, now=request.now
    ):
        raise Unproven("no allowed signer has the key of the SSH signature")
    if not ssh_signatures.is_signed(parsed, data):
        raise Unproven("the signature does not verify")
    return key_id(load_ssh_public_key(ssh_signatures.line_of(parsed.public_blob)))


PROOF = Proof(name=_METHOD, order=3, check=_check, verify=_verify)
