"""Which key signs for a flow, and which signers are believed: the places to look, in their order.

Signing: what the caller names, AGENTCLI_SIGNING_KEY, then ~/.ssh/id_ed25519, id_ecdsa, id_rsa. Believing: what the
caller names, AGENTCLI_ALLOWED_SIGNERS, the file in the state folder, and as a last resort the user's own public keys.
That last one proves only that the same user signed, so results say which source was used.
"""

import os
from typing import Any

from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.home import home_of, paths
from operable.gate.signatures.allowed_signers import Signer, parse_signers, read_signers
from operable.gate.signatures.ssh_signatures import private_key

NAMESPACE = "agentcli"
PRINCIPAL = "agentcli"
_OWN_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")


def signing_key(
    named: str | None, surroundings: Surroundings, *, code: str = "evidence_failed"
) -> Any | None:
    """The private key, or None if it does not exist. A key that was named and cannot be used is an error."""
    path = named or surroundings.environment.get("AGENTCLI_SIGNING_KEY")
    if path:
        return _loaded(os.path.join(surroundings.cwd, _expanded(path, surroundings)), code)
    home = surroundings.environment.get("HOME")
    if home:
        for name in _OWN_KEYS:
            place = os.path.join(home, ".ssh", name)
            if os.path.isfile(place):
                return _loaded(place, code)
    return None


def _loaded(path: str, code: str) -> Any:
    try:
        return private_key(path)
    except OSError as error:
        raise FlowError(code, f"signing key {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise FlowError(code, f"signing key {path} {error}") from None


def believed_signers(
    named: str | None, surroundings: Surroundings, principal: str
) -> tuple[list[Signer], str]:
    """The signers, and where they come from: `allowed_signers` or `own_keys`. ValueError when a file is refused."""
    environment = surroundings.environment
    path = named or environment.get("AGENTCLI_ALLOWED_SIGNERS")
    if path:
        return read_signers(os.path.join(surroundings.cwd, _expanded(path, surroundings))), "allowed_signers"
    home = environment.get("HOME")
    try:
        place = paths(home_of(environment, cwd=surroundings.cwd))["allowed_signers"]
    except FlowError:
        place = ""  # there is no home of manifests: the user's own keys remain
    if os.path.lexists(place):
        return read_signers(place), "allowed_signers"
    return _own_signers(home, principal), "own_keys"


def _own_signers(home: str | None, principal: str) -> list[Signer]:
    found: list[Signer] = []
    for name in _OWN_KEYS if home else ():
        try:
            with open(os.path.join(home or "", ".ssh", f"{name}.pub"), encoding="utf-8") as file:
                found += parse_signers(f"{principal} {file.read(64 * 1024).strip()}")
        except (OSError, UnicodeDecodeError):
            continue  # a missing key allows no signature
    return found


def _expanded(path: str, surroundings: Surroundings) -> str:
    home = surroundings.environment.get("HOME")
    return home + path[1:] if home and path.startswith("~/") else path
