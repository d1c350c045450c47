"""SPIFFE: a JWT-SVID that an agent of SPIRE has put into a file, used only after it was verified.

`auth.provider_config`: `svid_file`, `audience` (or `auth.audience`), exactly one local trust source (`public_key_pem`,
`public_key_file`, `jwks`, `jwks_file`), RSA keys of 2048 bits at least, optionally `issuer` and `clock_tolerance_s` (0 to
300, default 30). Fetching trust material from the network is not supported: it would make who is trusted a matter of DNS.
"""

import base64
import binascii
import json
import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import js_trim
from operable.flow.trust.identity.sessions import new_session, timestamp
from operable.flow.trust.identity.settings import auth_member, is_required, missing_texts, settings
from operable.flow.trust.keys.signatures import key_id, public_key
from operable.flow.trust.value_sources import read_text

_TRUST = ("public_key_pem", "public_key_file", "jwks", "jwks_file")
_ALGORITHMS = ("RS256", "RS384", "RS512")
_TOLERANCE = 30
_LATEST = 253_402_300_799


def _check(profile: Mapping[str, Any]) -> list[str]:
    config = settings(profile)
    found = missing_texts(profile, "svid_file")
    audience = auth_member(profile, "audience")
    if not isinstance(audience, str) or not audience.strip():
        found.append("auth.audience or auth.provider_config.audience is required for JWT-SVID verification")
    for name in ("workload_api_socket", "jwks_uri"):
        if config.get(name) is not None:
            found.append(f"auth.provider_config.{name} is unsupported; use local files instead")
    if sum(config.get(name) is not None for name in _TRUST) != 1:
        found.append("exactly one local JWT-SVID trust source is required")
    elif config.get("public_key_pem") is not None or config.get("jwks") is not None:
        found += _inline_problems(config)
    tolerance = config.get("clock_tolerance_s")
    if tolerance is not None and not (type(tolerance) is int and 0 <= tolerance <= 300):
        found.append("auth.provider_config.clock_tolerance_s must be an integer from 0 through 300")
    return found


def _inline_problems(config: Mapping[str, Any]) -> list[str]:
    try:
        if config.get("public_key_pem") is not None:
            _rsa(public_key(str(config["public_key_pem"])))
        else:
            for key in _set_of(config["jwks"]):
                _rsa_of(key)
    except (ValueError, FlowError) as error:
        return [f"JWT-SVID trust material {error}"]
    return []


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    config = settings(request.identity)
    audience = auth_member(request.identity, "audience")
    try:
        place = os.path.join(request.surroundings.cwd, config["svid_file"])
        token = js_trim(read_text(place, code="spiffe_svid_unavailable", what="JWT-SVID"))
        if not token:
            raise FlowError("spiffe_svid_unavailable", "JWT-SVID file is empty")
        claims, trust = _verified(token, request, audience)
    except FlowError:
        if is_required(request.identity):
            raise
        return new_session(request, assertions={"acquisition_method": "file", "signature_verified": False})
    principal = (request.identity.get("subject") or {}).get("principal") or claims["sub"]
    ends = timestamp(claims["exp"])
    return new_session(
        request,
        principal=principal,
        issuer=claims.get("iss"),
        credentials={
            "jwt_svid": {"kind": "jwt-svid", "value": token, "audience": audience, "expires_at": ends}
        },
        chain=[{"kind": "workload", "principal": principal, "grant": "jwt-svid", "validated": True}],
        assertions={
            "acquisition_method": "file",
            "signature_verified": True,
            "spiffe_id": claims["sub"],
            "issuer": claims.get("iss"),
            "audience": audience,
            "trust_source": trust,
        },
        refreshable=True,
        expires_at=ends,
    )


def _verified(token: str, request: IdentityRequest, audience: str) -> tuple[dict[str, Any], str]:
    header, claims = _parts(token)
    if header.get("alg") not in _ALGORITHMS:
        raise FlowError("spiffe_algorithm_unsupported", "JWT-SVID uses an unsupported signature algorithm")
    if header.get("typ") not in (None, "JWT", "JOSE") or "crit" in header:
        raise FlowError("spiffe_svid_invalid", "JWT-SVID header is not one of a JWT-SVID")
    config = settings(request.identity)
    tolerance = config.get("clock_tolerance_s")
    _check_times(claims, _TOLERANCE if tolerance is None else tolerance)
    given = claims.get("aud")
    if audience not in (given if isinstance(given, list) else [given]):
        raise FlowError("spiffe_audience_mismatch", "JWT-SVID is for another audience")
    if not _is_spiffe_id(claims.get("sub")):
        raise FlowError("spiffe_svid_invalid", "JWT-SVID subject is not a SPIFFE ID")
    issuer = (request.identity.get("subject") or {}).get("issuer") or config.get("issuer")
    if issuer is not None and claims.get("iss") != issuer:
        raise FlowError("spiffe_issuer_mismatch", "JWT-SVID is from another issuer")
    key, trust = _trusted(request, header)
    _check_signature(token, header["alg"], key)
    return claims, trust


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        first, second, third = token.split(".")
        decoded = [
            json.loads(base64.b64decode(p + "=" * (-len(p) % 4), b"-_", validate=True))
            for p in (first, second)
        ]
    except (ValueError, binascii.Error, RecursionError):
        raise FlowError("spiffe_svid_invalid", "JWT-SVID is malformed") from None
    if not third or not all(isinstance(part, dict) for part in decoded):
        raise FlowError("spiffe_svid_invalid", "JWT-SVID is malformed")
    return decoded[0], decoded[1]


def _check_times(claims: Mapping[str, Any], tolerance: int) -> None:
    now = time.time()
    ends = _number(claims.get("exp"))
    if ends is None or ends <= now - tolerance:
        raise FlowError("spiffe_svid_expired", "JWT-SVID has expired, or has no expiry")
    begins, issued = claims.get("nbf"), claims.get("iat")
    if begins is not None and ((moment := _number(begins)) is None or moment > now + tolerance):
        raise FlowError("spiffe_svid_not_active", "JWT-SVID is not active yet")
    if issued is not None and ((moment := _number(issued)) is None or moment > now + tolerance):
        raise FlowError("spiffe_svid_invalid", "JWT-SVID was issued in the future")


def _number(value: Any) -> float | None:
    """A moment of a year with four digits; NaN is none, because nothing is ever later than it."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) <= _LATEST else None


def _is_spiffe_id(value: Any) -> bool:
    try:
        parts = urlsplit(value)
    except (ValueError, AttributeError, TypeError):
        return False
    plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    return parts.scheme == "spiffe" and bool(parts.netloc) and plain


def _trusted(request: IdentityRequest, header: Mapping[str, Any]) -> tuple[Any, str]:
    config = settings(request.identity)
    source = next(name for name in _TRUST if config.get(name) is not None)
    value = config[source]
    if source.endswith("_file"):
        place = os.path.join(request.surroundings.cwd, str(value))
        value = read_text(place, code="spiffe_trust_invalid", what="JWT-SVID trust material")
    try:
        if source.startswith("public_key"):
            return _rsa(public_key(str(value))), source
        keys = [key for key in _set_of(value) if header.get("kid") in (None, key.get("kid"))]
        if len(keys) != 1:
            raise ValueError("does not hold exactly one key that fits the token")
        if keys[0].get("use") not in (None, "sig") or keys[0].get("alg") not in (None, header["alg"]):
            raise ValueError("holds a key that is not for this signature")
        return _rsa_of(keys[0]), source
    except ValueError as error:
        raise FlowError("spiffe_trust_invalid", f"JWT-SVID trust material {error}") from None


def _set_of(value: Any) -> list[Mapping[str, Any]]:
    try:
        document = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    keys = document.get("keys", [document]) if isinstance(document, Mapping) else None
    if not isinstance(keys, list) or not keys or not all(isinstance(key, Mapping) for key in keys):
        raise ValueError("is not a JWKS document")
    return keys


def _rsa_of(key: Mapping[str, Any]) -> Any:
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey

    try:
        found = RSAKey.import_key(dict(key))
    except (JoseError, ValueError, TypeError, KeyError):
        raise ValueError("must be RSA public keys") from None
    if found.is_private:
        raise ValueError("must not contain a private key")
    return _rsa(found.get_op_key("verify"))


def _rsa(key: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if not isinstance(key, RSAPublicKey) or key.key_size < 2048:
        raise ValueError("must be an RSA public key of at least 2048 bits")
    return key


def _check_signature(token: str, algorithm: str, key: Any) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey

    try:
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        jws.deserialize_compact(token, RSAKey.import_key(pem), algorithms=[algorithm])
    except (JoseError, ValueError, TypeError):
        raise FlowError(
            "spiffe_signature_invalid", f"JWT-SVID signature does not verify with {key_id(key)}"
        ) from None


IDENTITY = Identity(
    name="spiffe-jwt-svid",
    order=10,
    capabilities={
        "auth_modes": ["service"],
        "credential_types": ["jwt_svid"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none"],
        "refreshable": True,
        "delegation": True,
        "trust_levels": ["restricted", "supervised", "autonomous"],
        "approval_mechanisms": [],
    },
    check=_check,
    resolve=_resolve,
)
