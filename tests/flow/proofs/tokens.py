"""Tokens and keys for tests of proofs."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from operable.flow.canonical import canonical_digest
from operable.flow.contracts import HandoffContext, ProofRequest, Surroundings, entry

MANIFEST = {"version": "0.2", "workflows": [{"id": "w"}]}
DIGEST = canonical_digest(MANIFEST)
NOW = 1_800_000_000.0
ISSUER = "https://ci.example"
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
EC384 = ec.generate_private_key(ec.SECP384R1())
ED = ed25519.Ed25519PrivateKey.generate()
KEYS = {"RS256": RSA, "PS256": RSA, "ES256": EC, "ES384": EC384, "EdDSA": ED, "Ed25519": ED}


def pem(key: Any) -> str:
    return str(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "ascii")


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def claims(**changed: Any) -> dict[str, Any]:
    made = {
        "iss": ISSUER,
        "sub": "deploy",
        "aud": "agentcli",
        "exp": NOW + 600,
        "manifest_digest": DIGEST,
        **changed,
    }
    return {name: value for name, value in made.items() if value is not ...}


def token(payload: dict[str, Any] | None = None, alg: str = "RS256", key: Any = None, **header: Any) -> str:
    head = b64(json.dumps({"alg": alg, "typ": "JWT", **header}).encode())
    signed = f"{head}.{b64(json.dumps(claims() if payload is None else payload).encode())}"
    return f"{signed}.{b64(signature(signed.encode(), alg, key or KEYS[alg]))}"


def signature(data: bytes, alg: str, key: Any) -> bytes:
    if alg == "RS256":
        return bytes(key.sign(data, padding.PKCS1v15(), hashes.SHA256()))
    if alg == "PS256":
        return bytes(key.sign(data, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256()))
    if alg in ("ES256", "ES384"):
        size, chosen = (32, hashes.SHA256()) if alg == "ES256" else (48, hashes.SHA384())
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(chosen)))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")
    return bytes(key.sign(data))


def verify(
    method: str, value: str, profile: dict[str, Any], handoff: HandoffContext | None = None, **around: Any
) -> dict[str, Any]:
    surroundings = Surroundings(**{"cwd": "/", "network": True, "timeout": 20.0, **around})
    found: dict[str, Any] = entry("proofs", method).verify(
        ProofRequest(
            profile=profile,
            value=value,
            manifest=MANIFEST,
            manifest_digest=DIGEST,
            surroundings=surroundings,
            now=NOW,
            handoff=handoff,
        )
    )
    return found


class Ledger:
    """A revocation list and a replay store, in memory."""

    def __init__(self, *revoked: str) -> None:
        self.gone = set(revoked)
        self.used: set[str] = set()

    def context(self, digest: str = "sha256:artifact") -> HandoffContext:
        return HandoffContext(digest, revoked=lambda name: name in self.gone, claim_once=self.claim)

    def claim(self, nonce: str, _ends: float) -> bool:
        fresh = nonce not in self.used
        self.used.add(nonce)
        return fresh


def named(value: object) -> str:
    """A name for a parameter. Tokens and keys are new in every process, and names must not be."""
    return value if isinstance(value, str) and len(value) < 40 else type(value).__name__
