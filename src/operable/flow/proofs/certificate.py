"""A certificate, and a signature that proves possession of its key.

The proof is JSON `{certificate, signature}`: a leaf certificate in PEM and base64 of its key's signature over the canonical
manifest. The leaf must not be an authority, must be valid now, and issued by the profile's `ca_certificate` (or
`ca_certificate_from`; or signed by `public_key`). `claims.subject`, `claims.issuer` and `issuer` must be the
distinguished name, one of its parts, or an alternative name. In v4 mode the JSON is the envelope of v4, with the
certificate in it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from operable.flow.canonical import canonical_text
from operable.flow.contracts import Proof, ProofRequest
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.trust import proof_verification
from operable.flow.trust.keys.signatures import (
    certificate_id,
    certified_key,
    check_dates,
    check_issued_by,
    check_signed_by,
    is_signed,
    public_key,
    signature_bytes,
)
from operable.flow.trust.proof_verification import Unproven
from operable.flow.trust.value_sources import read_value

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, Name

_METHOD = "certificate"
# Purposes of machines that answer, as authorities give them to the owner of a host: of servers, of OCSP, of time stamps.
_OF_SERVERS = {f"1.3.6.1.5.5.7.3.{number}" for number in (1, 8, 9)}
_TRUST = ("ca_certificate", "ca_certificate_from", "public_key")


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = proof_verification.proof_source_problems(profile)
    if all(profile.get(name) is None for name in _TRUST):
        message = "certificate proof verification requires ca_certificate, ca_certificate_from or public_key"
        found.append(("verify", message))
    source = profile.get("ca_certificate_from")
    literal = source.get("literal") if isinstance(source, Mapping) else None
    for field, text in (("ca_certificate", profile.get("ca_certificate")), ("ca_certificate_from", literal)):
        if text is not None and _parsed(text) is None:
            found.append((field, "is not an X.509 certificate in PEM format"))
    if profile.get("public_key") is not None:
        try:
            public_key(str(profile["public_key"]))
        except ValueError as error:
            found.append(("public_key", str(error)))
    claims = profile.get("claims")
    for name in ("subject", "issuer"):
        value = claims.get(name) if isinstance(claims, Mapping) else None
        if value is not None and not isinstance(value, str):
            found.append((f"claims.{name}", "must be a string"))
    return found


def _verify(request: ProofRequest) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    try:
        proof = _proof(request.value)
        ends = 0.0
        if request.handoff is not None:
            ends = proof_verification.check_envelope(proof, request, request.handoff)
        leaf = _parsed(proof.get("certificate"))
        if leaf is None:
            raise Unproven("the proof has no certificate in PEM format")
        shown["key_id"] = certificate_id(leaf)
        _check_leaf(leaf, request.now)
        shown["key_source"] = _check_issuer(request, leaf)
        _check_names(request, leaf)
        shown["claims_validated"] = True
        _check_possession(request, proof, leaf)
        shown |= {"signature_verified": True, "manifest_bound": True}
        if request.handoff is not None:
            if proof["key_id"] != shown["key_id"]:
                raise Unproven("the proof envelope names another certificate")
            proof_verification.claim_once(request.handoff, shown["key_id"], proof["nonce"], ends)
    except Unproven as unproven:
        return proof_verification.result(request, _METHOD, **shown, reason=str(unproven))
    return proof_verification.result(request, _METHOD, **shown, verified=True)


def _proof(value: str) -> dict[str, Any]:
    if value.lstrip().startswith("-----BEGIN"):
        raise Unproven("a certificate alone does not prove possession of its key")
    try:
        proof = json.loads(value)
    except (ValueError, RecursionError):
        proof = None
    if not isinstance(proof, dict):
        raise Unproven("the proof is not a JSON object")
    return proof


def _parsed(text: Any) -> "Certificate | None":
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(text.encode("ascii"))
    except (ValueError, AttributeError):
        return None


def _check_leaf(leaf: "Certificate", now: float) -> None:
    from cryptography import x509

    check_dates(leaf, now, "certificate")
    try:
        extensions = leaf.extensions
    except (ValueError, x509.DuplicateExtension):
        raise Unproven("the certificate's extensions cannot be read") from None
    for extension in extensions:
        match extension.value:
            case x509.BasicConstraints(ca=True):
                raise Unproven("the certificate is an authority's, not a signer's")
            case x509.KeyUsage(digital_signature=False):
                raise Unproven("the certificate's key is not for signatures")
            case x509.ExtendedKeyUsage() as purposes if {
                each.dotted_string for each in purposes
            } <= _OF_SERVERS:
                raise Unproven("the certificate is for a server, not for a signer")
            case x509.UnrecognizedExtension() if extension.critical:
                raise Unproven("the certificate has a critical extension that is not known")


def _check_issuer(request: ProofRequest, leaf: "Certificate") -> str:
    """Which trust material vouches for the leaf."""
    source, text = _authority(request)
    if source == "public_key":
        check_signed_by(leaf, text)
        return source
    authority = _parsed(text)
    if authority is None:
        raise Unproven("the trusted authority is not a certificate in PEM format")
    check_issued_by(leaf, authority, request.now)
    return source


def _authority(request: ProofRequest) -> tuple[str, str]:
    profile = request.profile
    if profile.get("ca_certificate") is not None:
        return "ca_certificate", profile["ca_certificate"]
    if profile.get("ca_certificate_from") is not None:
        try:
            block = profile["ca_certificate_from"]
            return "ca_certificate_from", read_value(
                block, request.surroundings, code="authorization_proof_failed", what="ca_certificate_from"
            )
        except NotAllowed:
            raise
        except FlowError as error:
            raise Unproven(error.message) from None
    if profile.get("public_key") is not None:
        return "public_key", profile["public_key"]
    raise Unproven("there is no authority to verify the certificate with")


def _check_names(request: ProofRequest, leaf: "Certificate") -> None:
    claims = request.profile.get("claims") or {}
    subjects = {*_names(leaf.subject), *_alternative_names(leaf)}
    issuers = set(_names(leaf.issuer))
    for what, wanted, names in (
        ("subject", claims.get("subject"), subjects),
        ("issuer", claims.get("issuer"), issuers),
        ("issuer", request.profile.get("issuer"), issuers),
    ):
        if wanted is not None and (not isinstance(wanted, str) or wanted.lower() not in names):
            raise Unproven(f"the certificate's {what} is not what the profile declares")


def _names(name: "Name") -> Iterator[str]:
    """The whole name, each of its lines and each of its values, in lower case."""
    lines = [f"{part.rfc4514_attribute_name}={part.value!s}" for part in name]
    yield from (text.lower() for text in ("\n".join(lines), ", ".join(lines), name.rfc4514_string(), *lines))
    for part in name:
        yield str(part.value).lower()


def _alternative_names(leaf: "Certificate") -> Iterator[str]:
    from cryptography import x509

    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    kinds = {
        "DNSName": "dns",
        "UniformResourceIdentifier": "uri",
        "RFC822Name": "email",
        "IPAddress": "ip address",
    }
    for name in names:
        kind = kinds.get(type(name).__name__)
        if kind is not None:
            text = str(name.value).lower()
            yield from (text, f"{kind}:{text}")


def _check_possession(request: ProofRequest, proof: Mapping[str, Any], leaf: "Certificate") -> None:
    if not isinstance(proof.get("signature"), str):
        raise Unproven("the proof has no signature")
    if request.handoff is None:
        data = canonical_text(request.manifest).encode("utf-8", "surrogatepass")
    else:
        data = proof_verification.envelope_text(_METHOD, proof)
    try:
        key = certified_key(leaf)
    except ValueError as error:
        raise Unproven(f"the certificate's key {error}") from None
    try:
        raw = signature_bytes(proof["signature"])
    except ValueError as error:
        raise Unproven(str(error)) from None
    if not is_signed(key, raw, data):
        raise Unproven("the signature does not verify")


PROOF = Proof(name=_METHOD, order=4, check=_check, verify=_verify)
