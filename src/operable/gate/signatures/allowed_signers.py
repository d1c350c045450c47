"""Who may sign: the ALLOWED SIGNERS file of ssh-keygen(1).

A line is `principals [options] key-type key [comment]`. Principals are patterns (`*`, `?`, `!` to exclude); the options
are namespaces, valid-after and valid-before. Lines with `cert-authority`, which vouch for certificates, match no plain
key. The file is refused when it, or the folder that contains it, is a symbolic link: a process that may move a link could
choose whom we trust. Which file counts is the caller's decision.
"""

import base64
import binascii
import os
import re
import stat
from datetime import UTC, datetime

from operable.kernel.data_class import dataclass

_LIMIT = 1024 * 1024
_TIME = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)\Z")
_OPTIONS = ("cert-authority", "namespaces", "valid-after", "valid-before")
_OPTION = r'[A-Za-z-]+(?:=(?:"(?:[^"\\]|\\.)*"|[^", \t]*))?'
# Read whole and strictly: what is not read as ssh-keygen reads it would drop an option, and an option is a restriction.
_LINE = re.compile(
    r'(?:"(?P<quoted>[^"]+)"|(?P<principals>[^ \t"#][^ \t"]*))[ \t]+'
    rf"(?:(?P<options>{_OPTION}(?:,{_OPTION})*)[ \t]+)?"
    r"(?P<type>[a-z0-9@.-]+)[ \t]+(?P<key>(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)(?:[ \t].*)?"
)


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
    # By the line ends of ssh-keygen: others (`\x0b`, U+2028) may be in a comment.
    lines = (line.strip(" \t\r") for line in text.split("\n"))
    return [found for line in lines if (found := _signer(line)) is not None]


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
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    try:
        key = base64.b64decode(match["key"], validate=True)
        found = _options(match["options"] or "")
    except (binascii.Error, ValueError):
        return None
    kind = match["type"].encode()
    if "cert-authority" in found or key[: 4 + len(kind)] != len(kind).to_bytes(4) + kind:
        return None
    return Signer(
        match["quoted"] or match["principals"],
        key,
        found.get("namespaces"),
        _time(found.get("valid-after")),
        _time(found.get("valid-before")),
    )


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for option in re.finditer(_OPTION, text):
        name, equals, value = option[0].partition("=")
        name = name.lower()
        if name not in _OPTIONS or name in found or bool(equals) == (name == "cert-authority"):
            raise ValueError("an option that is not known, or given twice, could be a restriction")
        found[name] = value[1:-1].replace('\\"', '"') if value.startswith('"') else value
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
