"""Public keys and raw signatures, on the `cryptography` package: reading, naming and checking, nothing else.

Keys are PEM texts (a public key, or a certificate that contains one). A private key where a public one is expected is
refused, so that a manifest never contains one. RSA keys below 2048 bits and curves below 224, which are worth as much,
prove nothing today and are refused too.
"""

import base64
import binascii
import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from operable.flow.trust.proof_verification import Unproven

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_SMALLEST_RSA, _SMALLEST_CURVE = 2048, 224


def public_key(text: str) -> Any:
    """The key of a PEM text; Raises ValueError with the reason if there is no key."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if "PRIVATE KEY" in text:
        raise ValueError("must be a public key, not a private one")
    try:
        data = text.encode("ascii")
        if "BEGIN CERTIFICATE" in text:
            key: Any = x509.load_pem_x509_certificate(data).public_key()
        else:
            key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("is not a public key in PEM format") from None
    return strong(key)


def strong(key: Any) -> Any:
    """The key itself; ValueError when it is too small to prove anything."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size < _SMALLEST_CURVE:
        raise ValueError(f"is an EC key of {key.key_size} bits; at least {_SMALLEST_CURVE} are needed")
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < _SMALLEST_RSA:
        raise ValueError(f"is an RSA key of {key.key_size} bits; at least {_SMALLEST_RSA} are needed")
    return key


def certified_key(certificate: "Certificate") -> Any:
    """The key of a certificate; ValueError when it is of an unknown kind, or too small to prove anything."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return strong(certificate.public_key())
    except UnsupportedAlgorithm:
        raise ValueError("is of an unknown type") from None


def is_signing_key(key: Any) -> bool:
    """RSA, EC, Ed25519 or Ed448: the kinds whose raw signatures are checked here."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

    kinds = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)
    return isinstance(key, kinds)


def key_id(key: Any) -> str:
    """`spki-sha256:` and the digest of the key's public form."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "spki-sha256:" + hashlib.sha256(spki).hexdigest()


def certificate_id(certificate: "Certificate") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "x509-sha256:" + hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


def signature_bytes(text: str) -> bytes:
    """A base64 signature, line breaks allowed; Raises ValueError if it is not one."""
    try:
        found = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the signature is not base64") from None
    if not found:
        raise ValueError("the signature is empty")
    return found


def is_signed(key: Any, signature: bytes, data: bytes) -> bool:
    """RSA PKCS#1 and ECDSA (DER) with SHA-256, Ed25519 and Ed448 as they are."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, data, padding.PKCS1v15(), SHA256())
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, data, ec.ECDSA(SHA256()))
        elif is_signing_key(key):
            key.verify(signature, data)
        else:
            return False
    except InvalidSignature:
        return False
    return True


# Whether an authority, or a bare key, vouches for a certificate: it signed it, and it was allowed to.
#
# An authority says in its own certificate what it may do. One that is not for signing certificates, that limits the
# names it vouches for, or that demands what is not known here, vouches for no key: what is not checked is refused. So
# are signatures over digests that can be forged, and small keys.


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
