"""A signed JSON Web Token that is bound to the manifest.

The checks, in order: form, issuer, audience, times, declared claims, the claim `manifest_digest`, signature. RS256 and
ES256, and as an extension PS256, ES384 and EdDSA; `none` and HS* are never accepted. The key is the profile's `public_key`
or comes from `jwks_uri`. Reading claims proves nothing: `verified` needs the signature and the manifest. In v4 mode the
token needs exp, iat, jti and the artifact's digest, and is used once.
"""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from operable.flow.contracts import Proof, ProofRequest
from operable.flow.manifest.findings import js_trim
from operable.flow.trust import proof_verification
from operable.flow.trust.keys.signatures import is_signed, key_id, public_key, strong
from operable.flow.trust.proof_verification import Unproven, same_digest

_ALGORITHMS = ("RS256", "ES256", "PS256", "ES384", "EdDSA", "Ed25519")
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1"}
_NAMES = {"subject": "sub", "audience": "aud", "issuer": "iss"}
_SHOWN = (
    "sub aud iss exp nbf org_id on_behalf_of_user_id delegation_grant_id run_id agent_id verification_ref "
    "verification_level verification_verified_at step_up_policy session_id request_id manifest_digest"
).split()
# Tokens travel in headers and variables; a larger one is not a token.
_LONGEST = 64 * 1024


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = proof_verification.proof_source_problems(profile)
    issuer, uri, key = (profile.get(name) for name in ("issuer", "jwks_uri", "public_key"))
    if not isinstance(issuer, str) or not js_trim(issuer):
        found.append(("issuer", "must be a non-empty string"))
    if uri is not None and not _is_https(uri):
        found.append(("jwks_uri", "must be an https URL"))
    if key is not None:
        try:
            public_key(str(key))
        except ValueError as error:
            found.append(("public_key", str(error)))
    if uri is None and key is None:
        found.append(("verify", "jwt proof verification requires public_key or jwks_uri"))
    return found


def _is_https(uri: Any) -> bool:
    try:
        parts = urlsplit(uri)
        return parts.scheme == "https" and bool(parts.hostname) and parts.username is None
    except (ValueError, TypeError, AttributeError):
        return False


def _verify(request: ProofRequest) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    try:
        header, claims = _parts(request.value)
        shown["decoded_claims"] = {name: claims[name] for name in _SHOWN if name in claims}
        _check_claims(request, claims)
        shown["claims_validated"] = True
        if not same_digest(claims.get("manifest_digest"), request.manifest_digest):
            raise Unproven("the token is not bound to this manifest")
        shown["manifest_bound"] = True
        ends = _check_handoff(request, claims)
        key, shown["key_source"] = _key(request, header)
        shown["key_id"] = key_id(key)
        _check_signature(request.value, header["alg"], key)
        shown["signature_verified"] = True
        if request.handoff is not None:
            proof_verification.claim_once(request.handoff, shown["key_id"], claims["jti"], ends)
    except Unproven as unproven:
        return proof_verification.result(request, "jwt", **shown, reason=str(unproven))
    return proof_verification.result(request, "jwt", **shown, verified=True)


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    pieces = token.split(".")
    if len(pieces) != 3 or not all(pieces) or len(token) > _LONGEST:
        raise Unproven("the proof is not a JWT of three parts")
    header, claims = _decoded(pieces[0], "header"), _decoded(pieces[1], "payload")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or not algorithm:
        raise Unproven("the token's header has no alg")
    if "crit" in header or "b64" in header:
        raise Unproven("the token's header demands extensions that are not known")
    return header, claims


def _decoded(piece: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(_bytes(piece))
    except (ValueError, RecursionError):
        raise Unproven(f"the token's {what} cannot be decoded") from None
    if not isinstance(value, dict):
        raise Unproven(f"the token's {what} is not an object")
    return value


def _bytes(piece: str) -> bytes:
    try:
        return base64.b64decode(piece + "=" * (-len(piece) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Unproven("a part of the token is not base64url") from None


def _check_claims(request: ProofRequest, claims: Mapping[str, Any]) -> None:
    profile = request.profile
    if profile.get("issuer") is not None and claims.get("iss") != profile["issuer"]:
        raise Unproven("the token is from another issuer")
    if profile.get("audience") is not None and not _has(claims.get("aud"), profile["audience"]):
        raise Unproven("the token is for another audience")
    end, begin = _number(claims, "exp"), _number(claims, "nbf")
    if end is not None and request.now >= end:
        raise Unproven("the token has expired")
    if begin is not None and request.now < begin:
        raise Unproven("the token is not valid yet")
    issued = None if request.handoff else _number(claims, "iat")  # v4 has rules of its own for it
    if issued is not None and issued > request.now + proof_verification.SKEW:
        raise Unproven("the token was issued in the future")
    for name, wanted in (profile.get("claims") or {}).items():
        if not _has(claims.get(_NAMES.get(name, name)), wanted):
            raise Unproven(f"the token's claim {name} is not what the profile declares")


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unproven(f"the token's {name} is not a number")
    try:
        moment = float(value)
    except OverflowError:  # an integer beyond all doubles
        moment = math.inf
    if not math.isfinite(moment):  # nothing is ever later than NaN: such a token would not expire
        raise Unproven(f"the token's {name} is not a number")
    return moment


def _has(claim: Any, wanted: Any) -> bool:
    """A list has its members, everything else is equal; true is not 1."""
    if isinstance(claim, list):
        return any(_same(item, wanted) for item in claim)
    return _same(claim, wanted)


def _same(one: Any, other: Any) -> bool:
    return one is not None and isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _check_handoff(request: ProofRequest, claims: Mapping[str, Any]) -> float:
    if request.handoff is None:
        return 0.0
    if not isinstance(claims.get("jti"), str) or not claims["jti"]:
        raise Unproven("the token has no jti")
    digest = claims.get("handoff_artifact_digest", claims.get("artifact_digest"))
    if not same_digest(digest, request.handoff.artifact_digest):
        raise Unproven("the token is bound to another artifact")
    return proof_verification.check_lifetime(claims.get("iat"), claims.get("exp"), request.now)


def _key(request: ProofRequest, header: Mapping[str, Any]) -> tuple[Any, str]:
    if header["alg"] not in _ALGORITHMS:
        raise Unproven("the token's algorithm is not accepted")
    text = request.profile.get("public_key")
    if text is not None:
        try:
            return public_key(text), "public_key"
        except ValueError as error:
            raise Unproven(f"public_key {error}") from None
    uri = request.profile.get("jwks_uri")
    if uri is None:
        raise Unproven("there is no key to verify the token with")
    from operable.flow.trust.keys.jwks import key_for

    try:
        return strong(key_for(uri, header, request.surroundings).get_op_key("verify")), "jwks_uri"
    except ValueError as error:
        raise Unproven(f"the key of the key set {error}") from None


def _check_signature(token: str, algorithm: str, key: Any) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    refused = Unproven("the token's signature does not verify")
    if algorithm in ("EdDSA", "Ed25519"):
        # joserfc warns at every use of the name EdDSA; the check itself is one call.
        signed, _, signature = token.rpartition(".")
        if not isinstance(key, Ed25519PublicKey) or not is_signed(key, _bytes(signature), signed.encode()):
            raise refused
        return
    if algorithm in _CURVES and getattr(getattr(key, "curve", None), "name", None) != _CURVES[algorithm]:
        raise refused
    try:
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        kind: Literal["EC", "RSA"] = "EC" if algorithm.startswith("ES") else "RSA"
        jws.deserialize_compact(token, import_key(pem, kind), algorithms=[algorithm])
    except (JoseError, ValueError, TypeError):
        raise refused from None


PROOF = Proof(name="jwt", order=2, check=_check, verify=_verify)
