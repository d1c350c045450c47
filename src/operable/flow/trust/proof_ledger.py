"""The memory of v4 proofs: which were used, and which keys and proofs are revoked.

A folder of the state directory. `used/` holds one empty file per proof that was accepted, named by its digest and dated by
its expiry: making it is the claim, and the file system makes sure that only one of any number of processes succeeds.
Files whose date has passed by a day are removed, because an expired proof is refused anyway, and clocks are set back by
less. `revoked` is a text file that people
write: one key id or nonce a line, `#` for comments. While it does not exist, revocations are unknown, and proofs are
refused; an empty file says that nothing is.
"""

import hashlib
import os
import time

from operable.flow.contracts import HandoffContext
from operable.flow.trust.value_sources import read_text
from operable.state.atomic import WholeFile

_SET_BACK = 86_400.0


def handoff_context(artifact_digest: str, folder: str) -> HandoffContext:
    """What v4 verification asks, answered from this folder."""
    return HandoffContext(
        artifact_digest,
        revoked=lambda name: is_revoked(folder, name),
        claim_once=lambda nonce, ends: claim(folder, nonce, ends),
    )


def is_revoked(folder: str, name: str) -> bool | None:
    path = os.path.join(folder, "revoked")
    if not os.path.lexists(path):
        return None
    lines = read_text(path, code="authorization_proof_failed", what="revocation list").splitlines()
    return name in {line.partition("#")[0].strip() for line in lines} - {""}


def claim(folder: str, nonce: str, ends: float) -> bool:
    """Whether this call was the first for the nonce. OSError when it cannot be remembered."""
    used = os.path.join(folder, "used")
    os.makedirs(used, mode=0o700, exist_ok=True)
    _forget_expired(used)
    name = hashlib.sha256(nonce.encode("utf-8", "surrogatepass")).hexdigest()
    try:
        with WholeFile(
            os.path.join(used, name), draft=os.path.join(used, f".{os.urandom(8).hex()}"), new=True
        ) as file:
            # Dated before it is visible: otherwise a half-made claim would look expired to `_forget_expired`.
            os.utime(file.fd, (ends, ends))
    except FileExistsError:
        return False
    return True


def _forget_expired(used: str) -> None:
    past = time.time() - _SET_BACK
    with os.scandir(used) as entries:
        for entry in entries:
            try:
                if not entry.name.startswith(".") and entry.stat().st_mtime < past:
                    os.unlink(entry.path)
            except FileNotFoundError:
                continue  # another process was faster
