"""SSH keys for tests."""

from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from operable.gate.signatures.ssh_signatures import public_line

KINDS: dict[str, Any] = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "ecdsa-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ecdsa-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ecdsa-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
}


def written(folder: Path, kind: str = "ed25519", name: str = "id") -> tuple[Path, Any]:
    """A private key file as ssh-keygen would write it, and the key."""
    key = KINDS[kind]()
    path = folder / name
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.chmod(0o600)
    return path, key


def allowed(folder: Path, key: Any, principals: str = "agentcli", options: str = "") -> Path:
    path = folder / "allowed_signers"
    path.write_text(f"{principals} {options + ' ' if options else ''}{public_line(key.public_key())}\n")
    return path
