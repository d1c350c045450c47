"""Whether a pattern of addresses matches an address: scheme, host and what follows are compared each for itself.

So `*` in the host of a pattern reaches no path, and a name before `@` is not a host. Schemes and hosts have no case, and a
default port and a dot at the end of a host say nothing. A pattern without `://` is compared with the text as it is.

Clients forgive much: browsers drop tabs and line ends, and take a backslash for `/`; hosts are decoded, normalized and
written in ASCII; an IPv4 address may be one number, octal or hexadecimal. A rule that denies or asks compares the address
as such a client reads it. A rule that allows compares it as it is written, and matches no address that has two readings.
"""

import re
from typing import Final, NamedTuple

_FORM: Final = re.compile(r"([A-Za-z*?][A-Za-z0-9+.*?-]*)://([^/?#\\]*)(.*)", re.DOTALL)
_PATTERN: Final = re.compile(r"([A-Za-z*?][A-Za-z0-9+.*?-]*)://([^/#\\]*)(.*)", re.DOTALL)
_PORTS: Final = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443", "ftp": ":21"}
_DOUBTFUL: Final = re.compile(r"[\\\x00-\x20\x7f-\xa0\u2028\u2029]")
_LEAD: Final = re.compile(r"^\s*(https?|wss?|ftp):/*", re.IGNORECASE)
_DROPPED: Final = re.compile(r"[\t\r\n\xad\u200b-\u200d\u2060\ufeff]")  # what clients leave out of an address
_DOTS: Final = re.compile("[\u3002\uff0e\uff61]")
_PARTS: Final = 4  # of an IPv4 address
_SIZE: Final = 4096  # of an address that is read in more than one way


class _Address(NamedTuple):
    scheme: str
    host: str  # and its port, where that is not the default
    rest: str
    has_user: bool


def _parts(text: str, form: re.Pattern[str]) -> _Address | None:
    found = form.fullmatch(text.strip())
    if found is None:
        return None
    scheme, (user, _, host) = found[1].lower(), found[2].rpartition("@")
    host = host.lower().removesuffix(_PORTS.get(scheme, ":"))
    name, colon, port = host.partition(":") if not host.startswith("[") else (host, "", "")
    return _Address(scheme, name.removesuffix(".") + colon + port, found[3], bool(user))


def allows_address(pattern: str, text: str) -> bool:
    """For a rule that allows: the address is what the pattern says, in every reading."""
    wanted = _parts(pattern, _PATTERN)
    if wanted is None:
        return re.fullmatch(_glob(pattern), text, re.DOTALL) is not None
    given = _parts(text, _FORM)
    if given is None or given.has_user or _DOUBTFUL.search(text) or _plain_host(given.host) != given.host:
        return False
    return _same(wanted, given)


def touches_address(pattern: str, text: str) -> bool:
    """For a rule that denies or asks: the address may be what the pattern says."""
    if re.fullmatch(_glob(pattern), text, re.DOTALL):
        return True
    wanted = _parts(pattern, _PATTERN)
    if wanted is None:
        return re.fullmatch(_glob(pattern.lower()), text.lower(), re.DOTALL) is not None
    plain = _DROPPED.sub("", text)
    spelled = _LEAD.sub(r"\1://", plain.replace("\\", "/"), count=1)  # as browsers forgive it
    tried = [spelled] if "://" in spelled else [f"{wanted.scheme}://{spelled.lstrip('/')}"]
    tried += [plain.replace("\\", "")] if "\\" in plain else []  # as one more character of a name before `@`
    wanted = wanted._replace(host=_plain_host(wanted.host))
    for given in (_parts(each, _FORM) for each in tried):
        if given is None:
            continue
        again = _parts(f"{given.scheme}://{_plain_host(given.host)}", _FORM)  # a port or dot that was hidden
        host = given.host if again is None else again.host
        if any(_same(wanted, given._replace(host=each)) for each in (given.host, host)):
            return True
    return False


def _plain_host(host: str) -> str:
    """A host as clients look it up: decoded, normalized, in ASCII, an IPv4 address as four numbers."""
    if len(host) > _SIZE:
        return host
    if "%" in host or not host.isascii():
        from unicodedata import normalize
        from urllib.parse import unquote

        host = normalize("NFKC", _DROPPED.sub("", _DOTS.sub(".", unquote(host)))).lower()
    if not host.isascii():
        labels = (label if label.isascii() else _label(label) for label in host.split("."))
        host = ".".join(labels)
    if host.startswith("["):
        return _ipv6(host)
    name, colon, port = host.partition(":")
    return (_ipv4(name.removesuffix(".")) or name) + colon + port


def _label(label: str) -> str:
    try:
        return f"xn--{label.encode('punycode').decode('ascii')}"
    except UnicodeError:
        return label


def _ipv4(host: str) -> str:
    """`127.1`, `0x7f000001` and `2130706433` are 127.0.0.1; empty: it is not an address."""
    parts = host.split(".")
    if len(parts) > _PARTS or not all(re.fullmatch(r"0x[0-9a-f]{1,8}|[0-9]{1,12}", part) for part in parts):
        return ""
    try:
        numbers = [
            int(part, 16 if part[:2] == "0x" else 8 if part[0] == "0" and len(part) > 1 else 10)
            for part in parts
        ]
    except ValueError:
        return ""
    *lead, last = numbers
    if any(number > 255 for number in lead) or last >= 256 ** (_PARTS - len(lead)):
        return ""
    value = last + sum(number << (8 * (3 - at)) for at, number in enumerate(lead))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _ipv6(host: str) -> str:
    """An address in brackets in its shortest form; one that is an IPv4 address, as that."""
    from ipaddress import IPv6Address

    inside, _, port = host[1:].partition("]")
    try:
        address = IPv6Address(inside.partition("%")[0])
    except ValueError:
        return host
    return (f"[{address}]" if address.ipv4_mapped is None else str(address.ipv4_mapped)) + port


def _same(wanted: _Address, given: _Address) -> bool:
    rest = wanted.rest or ("*" if wanted.host.endswith("*") else "/")
    return all(
        re.fullmatch(_glob(pattern), text, re.DOTALL)
        for pattern, text in (
            (wanted.scheme, given.scheme),
            (wanted.host, given.host),
            (rest, given.rest if given.rest.startswith("/") else f"/{given.rest}"),
        )
    )


def _glob(pattern: str) -> str:
    """The regular expression of a pattern: `*` reaches over everything within its part."""
    words = {"*": ".*", "?": "."}
    return "".join(
        words.get(piece) or re.escape(piece) for piece in re.split(r"(\*+|\?)", pattern.replace("**", "*"))
    )
