"""The ALLOWED SIGNERS file of ssh-keygen(1): which keys may sign for which identity, for what, and when.

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
from dataclasses import dataclass
from datetime import UTC, datetime

_LIMIT = 1024 * 1024
_TIME = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)\Z")


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


def has_principal(signers: list[Signer], principal: str) -> bool:
    """Whether any key may sign as this principal, at whatever time."""
    return any(_matches(signer.principals, principal) for signer in signers)


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
