"""SSH signatures (OpenSSH's PROTOCOL.sshsig) without ssh-keygen: the format here, the cryptography in `cryptography`.

A signature names its public key, a namespace and a hash; what is signed is a blob of these with the hash of the message.
It is therefore good only for the namespace that it was made for. Ed25519, ECDSA (NIST curves) and RSA keys are supported;
RSA with SHA-1 is not a signature. Keys on security tokens and certificates are refused by name.
"""

import base64
import binascii
import hashlib
import os
import stat
import struct
from typing import Any

from operable.kernel.data_class import dataclass

_MAGIC = b"SSHSIG"
_VERSION = 1
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_HASHES = ("sha256", "sha512")
_SMALLEST_RSA = 2048
# The largest signatures are those of RSA keys with 16384 bits.
_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class SshSignature:
    """A parsed signature, not yet checked."""

    public_blob: bytes
    namespace: str
    hash_name: str
    signature: bytes

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.public_blob)


def fingerprint(public_blob: bytes) -> str:
    """As `ssh-keygen -l` prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(public_blob).digest()).decode().rstrip("=")


def is_armored(text: str) -> bool:
    return text.strip().startswith(_BEGIN)


def parse(armored: str) -> SshSignature:
    """ValueError says what is wrong with it."""
    text = armored.strip()
    if len(text) > _LIMIT or not (text.startswith(_BEGIN) and text.endswith(_END)):
        raise ValueError("not an SSH signature")
    try:
        blob = base64.b64decode("".join(text[len(_BEGIN) : -len(_END)].split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the SSH signature is not base64") from None
    if blob[:6] != _MAGIC or len(blob) < 10:
        raise ValueError("not an SSH signature")
    if struct.unpack(">I", blob[6:10])[0] != _VERSION:
        raise ValueError("the SSH signature has an unknown version")
    public, namespace, _reserved, hash_name, signature = _strings(blob[10:], 5)
    if hash_name.decode("ascii", "replace") not in _HASHES:
        raise ValueError("the SSH signature uses an unsupported hash")
    try:
        return SshSignature(public, namespace.decode("utf-8"), hash_name.decode(), signature)
    except UnicodeDecodeError:
        raise ValueError("the SSH signature's namespace is not text") from None


def is_signed(parsed: SshSignature, message: bytes) -> bool:
    """Whether the signature's own key signed the message. Whose key it is, `allowed_signers` knows."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        key = load_ssh_public_key(line_of(parsed.public_blob))
        form, raw = _strings(parsed.signature, 2)
        _check(
            key,
            form.decode("ascii", "replace"),
            raw,
            _signed_blob(parsed.namespace, parsed.hash_name, message),
        )
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def line_of(blob: bytes) -> bytes:
    """A public key blob as a line that readers of OpenSSH keys take; Raises ValueError if it is not one."""
    return _strings(blob, 1, rest=True)[0] + b" " + base64.b64encode(blob)


def sign(key: Any, message: bytes, namespace: str) -> str:
    """The armored signature of a private key."""
    blob = public_blob(key.public_key())
    form, raw = _raw_signature(key, _signed_blob(namespace, "sha512", message))
    parts = [blob, namespace.encode(), b"", b"sha512", _string(form.encode()) + _string(raw)]
    data = _MAGIC + struct.pack(">I", _VERSION) + b"".join(map(_string, parts))
    text = base64.b64encode(data).decode()
    body = "\n".join(text[at : at + 70] for at in range(0, len(text), 70))
    return f"{_BEGIN}\n{body}\n{_END}\n"


def private_key(path: str) -> Any:
    """An OpenSSH or PEM private key without a passphrase; ValueError says why it cannot be used."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("is not a regular file")
        if about.st_mode & 0o077:
            raise ValueError("can be read by others; its mode must be 0600")
        data = file.read(_LIMIT)
    try:
        if b"BEGIN OPENSSH PRIVATE KEY" in data:
            return load_ssh_private_key(data, password=None)
        return load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The library's texts may quote the file.
        raise ValueError("is not a private key without a passphrase") from None


def public_blob(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return base64.b64decode(line.split()[1])


def public_line(key: Any) -> str:
    """`ssh-ed25519 AAAA…`, as in a .pub file."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return str(key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())


def _signed_blob(namespace: str, hash_name: str, message: bytes) -> bytes:
    digest = hashlib.new(hash_name, message).digest()
    return _MAGIC + b"".join(map(_string, [namespace.encode(), b"", hash_name.encode(), digest]))


def _check(key: Any, form: str, raw: bytes, blob: bytes) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    if isinstance(key, ed25519.Ed25519PublicKey) and form == "ssh-ed25519":
        key.verify(raw, blob)
    elif isinstance(key, rsa.RSAPublicKey) and form in ("rsa-sha2-256", "rsa-sha2-512"):
        if key.key_size < _SMALLEST_RSA:
            raise ValueError("the RSA key is too small")
        chosen = hashes.SHA256() if form == "rsa-sha2-256" else hashes.SHA512()
        key.verify(raw, blob, padding.PKCS1v15(), chosen)
    elif isinstance(key, ec.EllipticCurvePublicKey) and form == _ecdsa_form(key):
        r, s = (int.from_bytes(part, "big", signed=True) for part in _strings(raw, 2))
        key.verify(encode_dss_signature(r, s), blob, ec.ECDSA(_ecdsa_hash(key)))
    else:
        raise ValueError("the signature does not fit its key")


def _raw_signature(key: Any, blob: bytes) -> tuple[str, bytes]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "ssh-ed25519", key.sign(blob)
    if isinstance(key, rsa.RSAPrivateKey):
        return "rsa-sha2-512", key.sign(blob, padding.PKCS1v15(), hashes.SHA512())
    if isinstance(key, ec.EllipticCurvePrivateKey):
        public = key.public_key()
        r, s = decode_dss_signature(key.sign(blob, ec.ECDSA(_ecdsa_hash(public))))
        return _ecdsa_form(public), _string(_mpint(r)) + _string(_mpint(s))
    raise ValueError("keys of this kind cannot sign")


def _ecdsa_form(key: Any) -> str:
    names = {"secp256r1": "nistp256", "secp384r1": "nistp384", "secp521r1": "nistp521"}
    return f"ecdsa-sha2-{names.get(key.curve.name, '?')}"


def _ecdsa_hash(key: Any) -> Any:
    from cryptography.hazmat.primitives import hashes

    return {256: hashes.SHA256, 384: hashes.SHA384}.get(key.curve.key_size, hashes.SHA512)()


def _mpint(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big")


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _strings(data: bytes, count: int, *, rest: bool = False) -> list[bytes]:
    """So many length-prefixed strings; exactly the whole data unless `rest` may follow."""
    found, at = [], 0
    for _ in range(count):
        if at + 4 > len(data):
            raise ValueError("the SSH data is cut short")
        (size,) = struct.unpack(">I", data[at : at + 4])
        if at + 4 + size > len(data):
            raise ValueError("the SSH data is cut short")
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    if at != len(data) and not rest:
        raise ValueError("the SSH data has extra bytes at its end")
    return found
