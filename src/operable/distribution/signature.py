"""Who signed a package: an SSH signature of its digest, in the file PACKAGE.sig at its top.

The mechanism is that of approvals and audits (`gate.signatures`): the key signs, and the ALLOWED SIGNERS file of the user
says whose key it is. A signature that does not fit the files is an error; one of a key that is not listed is shown as such.
"""

import os
import time
from typing import Literal

from operable.distribution.folder import SIGNATURE
from operable.gate.signatures.allowed_signers import may_sign, read_signers
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.state.paths import config_path

NAMESPACE = "operable-package"
_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Signature:
    """`none`: not signed; `unknown`: by a key that the user has not listed; `allowed`: by a listed one."""

    state: Literal["none", "unknown", "allowed"]
    key: str | None = None
    signer: str | None = None


def signed_text(digest: str) -> bytes:
    return f"operable package\n{digest}\n".encode()


def sign(digest: str, key_path: str) -> tuple[str, str]:
    """The armored signature, and the fingerprint of the key."""
    from operable.gate.signatures import ssh_signatures

    try:
        key = ssh_signatures.private_key(key_path)
        blob = ssh_signatures.public_blob(key.public_key())
        return ssh_signatures.sign(key, signed_text(digest), NAMESPACE), ssh_signatures.fingerprint(blob)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        raise Fail("config", "SIGNING_KEY_UNUSABLE", f"{key_path}: {why}", target=key_path) from problem


def verify(folder: str, digest: str) -> Signature:
    """Who signed the package in this folder, whose files have this digest; Fail for a signature that does not fit."""
    try:
        with open(os.path.join(folder, SIGNATURE), encoding="ascii", errors="replace") as file:
            armored = file.read(_LIMIT)
    except FileNotFoundError:
        return Signature("none")
    from operable.gate.signatures import ssh_signatures

    try:
        parsed = ssh_signatures.parse(armored)
    except ValueError as problem:
        raise _invalid(str(problem)) from problem
    if parsed.namespace != NAMESPACE:
        raise _invalid("it was made for something else")
    if not ssh_signatures.is_signed(parsed, signed_text(digest)):
        raise _invalid("the files are not those that were signed")
    return _known(parsed.public_blob, parsed.fingerprint)


def _known(key: bytes, fingerprint: str) -> Signature:
    path = signers_path()
    if path is None or not os.path.lexists(path):
        return Signature("unknown", fingerprint)
    try:
        signers = read_signers(path)
    except ValueError as problem:
        hint = "a plain file as ssh-keygen reads it: NAME KEY-TYPE KEY"
        message = f"{path} {problem}"
        raise Fail("config", "ALLOWED_SIGNERS_UNUSABLE", message, hint=hint, target=path) from problem
    for signer in signers:
        name = signer.principals.partition(",")[0]
        if may_sign([signer], principal=name, key=key, namespace=NAMESPACE, now=time.time()):
            return Signature("allowed", fingerprint, name)
    return Signature("unknown", fingerprint)


def signers_path() -> str | None:
    """The file of those whose signatures the user believes."""
    return os.environ.get("OPERABLE_ALLOWED_SIGNERS") or config_path("allowed_signers")


def _invalid(why: str) -> Fail:
    hint = "it was changed after it was signed, or the signature is of another package: do not use it"
    message = f"the signature of the package is not valid: {why}"
    return Fail("authz", "PACKAGE_SIGNATURE_INVALID", message, hint=hint, target=SIGNATURE)
