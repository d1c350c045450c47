"""Who signs, and who is believed: the ALLOWED SIGNERS file of ssh-keygen(1), and where it and the own key are found.

A line is `principals [options] key-type key [comment]`. Principals are patterns (`*`, `?`, `!` to exclude); the options
are namespaces, valid-after and valid-before. Lines with `cert-authority`, which vouch for certificates, match no plain
key. The file is refused when it, or the folder that contains it, is a symbolic link: a process that may move a link could
choose whom we trust.
"""

import base64
import binascii
import os
import re
import shlex
import stat
from datetime import UTC, datetime
from typing import Any

from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.home import home_of, paths
from operable.flow.trust.keys.ssh_signatures import private_key
from operable.kernel.data_class import dataclass

_LIMIT = 1024 * 1024
_TIME = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)\Z")
NAMESPACE = "agentcli"
PRINCIPAL = "agentcli"
_OWN_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True, slots=True)
class Signer:
    principals: str
    key: bytes
    namespaces: str | None = None
    valid_after: float | None = None
    valid_before: float | None = None


def read_signers(path: str) -> list[Signer]:
    """ValueError says why the file is not used. A line that cannot be read allows no key."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.islink(folder):
        raise ValueError("is in a folder that is a symbolic link")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        reason = "is a symbolic link" if os.path.islink(path) else f"cannot be read: {error.strerror}"
        raise ValueError(reason) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(_LIMIT + 1)
    finally:
        os.close(handle)
    if len(data) > _LIMIT:
        raise ValueError(f"is larger than {_LIMIT} bytes")
    return parse_signers(data.decode("utf-8", "replace"))


def parse_signers(text: str) -> list[Signer]:
    return [found for line in text.splitlines() if (found := _signer(line.strip())) is not None]


def may_sign(signers: list[Signer], *, principal: str, key: bytes, namespace: str, now: float) -> bool:
    """Whether this key may sign as this principal in this namespace at this time."""
    return any(
        signer.key == key
        and _matches(signer.principals, principal)
        and (signer.namespaces is None or _matches(signer.namespaces, namespace))
        and (signer.valid_after is None or now >= signer.valid_after)
        and (signer.valid_before is None or now < signer.valid_before)
        for signer in signers
    )


def _signer(line: str) -> Signer | None:
    if not line or line.startswith("#"):
        return None
    principals, _, rest = line.partition(" ")
    rest = rest.strip()
    # Options may contain quoted blanks; a key type never does.
    options, key_text = _split_options(rest)
    if options is None or key_text is None:
        return None
    try:
        key = base64.b64decode(key_text, validate=True)
        found = _options(options)
    except (binascii.Error, ValueError):
        return None
    if "cert-authority" in found:
        return None
    return Signer(
        principals.strip('"'),
        key,
        found.get("namespaces"),
        _time(found.get("valid-after")),
        _time(found.get("valid-before")),
    )


def _split_options(rest: str) -> tuple[str | None, str | None]:
    words = rest.split()
    for index, word in enumerate(words):
        if re.match(r"(sk-)?(ssh-|ecdsa-)[a-z0-9@.-]+\Z", word) and index + 1 < len(words):
            return rest[: rest.index(word)].strip(), words[index + 1]
    return None, None


def _options(text: str) -> dict[str, str]:
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = ",", True, ""
    found = {}
    for option in lexer:
        name, _, value = option.strip().partition("=")
        name = name.lower()
        if name not in ("cert-authority", "namespaces", "valid-after", "valid-before"):
            raise ValueError("an unknown option could be a restriction")
        found[name] = value
    for name in ("valid-after", "valid-before"):
        if name in found and _time(found[name]) is None:
            raise ValueError("a time that cannot be read could be a restriction")
    return found


def _time(text: str | None) -> float | None:
    match = _TIME.match(text or "")
    if match is None:
        return None
    clock = (match[2] or "0000").ljust(6, "0")
    moment = datetime.strptime(match[1] + clock, "%Y%m%d%H%M%S")  # noqa: DTZ007 - local time unless it ends with Z
    return (moment.replace(tzinfo=UTC) if match[3] else moment).timestamp()


def _matches(patterns: str, value: str) -> bool:
    """OpenSSH's pattern lists: one must match, and no excluded one."""
    allowed = False
    for pattern in patterns.split(","):
        negated, plain = pattern.startswith("!"), pattern.removeprefix("!")
        expression = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in plain)
        if re.fullmatch(expression, value, re.DOTALL):
            if negated:
                return False
            allowed = True
    return allowed


# Which key signs, and which signers are believed: the places to look, in their order.
# Signing: what the caller names, AGENTCLI_SIGNING_KEY, then ~/.ssh/id_ed25519, id_ecdsa, id_rsa. Believing: what the
# caller names, AGENTCLI_ALLOWED_SIGNERS, the file in the state folder, and as a last resort the user's own public keys.
# That last one proves only that the same user signed, so results say which source was used.
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
