"""Whether an authority, or a bare key, vouches for a certificate: it signed it, and it was allowed to.

An authority says in its own certificate what it may do. One that is not for signing certificates, that limits the names it
vouches for, or that demands what is not known here, vouches for no key: what is not checked is refused. So are signatures
over digests that can be forged, and small keys.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from operable.flow.trust.keys.signatures import certified_key, public_key
from operable.flow.trust.proof_results import Unproven

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


def check_dates(certificate: "Certificate", now: float, what: str) -> None:
    moment = datetime.fromtimestamp(now, UTC)
    if not certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc:
        raise Unproven(f"the {what} is not valid now")


def check_issued_by(leaf: "Certificate", authority: "Certificate", now: float) -> None:
    """Unproven unless this authority issued the leaf, and may."""
    from cryptography.exceptions import InvalidSignature

    check_dates(authority, now, "trusted authority")
    _check_extensions(authority)
    _check_digest(leaf)
    try:
        certified_key(authority)
    except ValueError as error:
        raise Unproven(f"the key of the trusted authority {error}") from None
    try:
        leaf.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        raise Unproven("the certificate is not issued by the trusted authority") from None


def _check_extensions(authority: "Certificate") -> None:
    from cryptography import x509

    is_authority = False
    try:
        extensions = authority.extensions
    except (ValueError, x509.DuplicateExtension):
        raise Unproven("the trusted authority's extensions cannot be read") from None
    for extension in extensions:
        match extension.value:
            case x509.BasicConstraints(ca=ca):
                is_authority = ca
            case x509.KeyUsage(key_cert_sign=False):
                raise Unproven("the trusted authority's key is not for signing certificates")
            case x509.NameConstraints() | x509.PolicyConstraints():
                raise Unproven("the trusted authority has constraints that are not checked here")
            case x509.UnrecognizedExtension() if extension.critical:
                raise Unproven("the trusted authority has a critical extension that is not known")
    if not is_authority:
        raise Unproven("the trusted certificate is not an authority's")


def check_signed_by(leaf: "Certificate", text: str) -> None:
    """Unproven unless the key of this PEM text signed the leaf."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    _check_digest(leaf)
    try:
        key = public_key(text)
        data, parameters = leaf.tbs_certificate_bytes, leaf.signature_algorithm_parameters
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(leaf.signature, data, parameters, leaf.signature_hash_algorithm)  # type: ignore[arg-type]
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(leaf.signature, data, parameters)  # type: ignore[arg-type]
        else:
            key.verify(leaf.signature, data)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError, AttributeError):
        raise Unproven("the certificate is not signed by the trusted key") from None


def _check_digest(leaf: "Certificate") -> None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.hashes import MD5, SHA1

    try:
        if isinstance(leaf.signature_hash_algorithm, MD5 | SHA1):
            raise Unproven("the certificate is signed with a digest that can be forged")
    except UnsupportedAlgorithm:
        raise Unproven("the certificate is signed in a way that is not known") from None
