"""Whether a pattern of addresses matches an address: scheme, host and what follows are compared each for itself.

So `*` in the host of a pattern reaches no path, and a name before `@` is not a host. Schemes and hosts have no case, and a
default port and a dot at the end of a host say nothing. A pattern without `://` is compared with the text as it is.

What is behind the host is compared as it is written, and as servers and clients read it: decoded, without `.` and `..`,
without what follows `;` in a name. A rule that allows needs all of these readings, one that denies or asks needs one.

Clients forgive much: browsers drop tabs and line ends, and take a backslash for `/`; hosts are decoded, normalized and
written in ASCII; an IPv4 address may be one number, octal or hexadecimal. A rule that denies or asks compares the address
as such a client reads it. A rule that allows compares it as it is written, and matches no address that has two readings.
An address that does not parse, or has more than 4096 characters, may be every address: it is denied, and not allowed.
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
SIZE: Final = 4096  # characters of an address; a longer one may be every address
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%]")
_NUMBER: Final = re.compile(
    r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$"
)  # a host that ends so is an IPv4 address, or none
_PLAIN: Final = re.compile(r"[a-z0-9._-]+(?::[0-9]+)?\Z|\[")  # a host that each client reads in the same way
_DIGITS, _LAST_PORT = 5, 65_535
_DECODED: Final = 3  # times: as it is, once, twice
_WILDCARDS: Final = 2  # in a pattern that is matched by a regular expression


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
    host = host.lower()
    name, colon, port = host.partition(":")
    if host.startswith("["):
        inside, bracket, behind = host.partition("]")
        before, colon, port = behind.partition(":")
        name = inside + bracket + before  # text in front of the colon belongs to no host
    if colon == ":" and port.isascii() and port.isdigit():
        port = port.lstrip("0") or "0"
    name = name.removesuffix(".") + (colon + port if port else "")
    return _Address(scheme, name.removesuffix(_PORTS.get(scheme, ":")), found[3], bool(user))


def allows_address(pattern: str, text: str) -> bool:
    """For a rule that allows: the address is what the pattern says, in every reading."""
    if len(text) > SIZE:
        return False
    wanted = _parts(pattern, _PATTERN)
    if wanted is None:
        return is_like(pattern, text)
    given = _parts(text, _FORM)
    if given is None or given.has_user or _DOUBTFUL.search(text) or _plain_host(given.host) != given.host:
        return False
    if not _is_host(given.host) or not _PLAIN.match(given.host) or _written_host(text) != given.host:
        return False
    return all(_same(wanted, given._replace(rest=rest)) for rest in _rests(given.rest))


def touches_address(pattern: str, text: str) -> bool:
    """For a rule that denies or asks: the address may be what the pattern says."""
    if len(text) > SIZE:
        return True
    if is_like(pattern, text):
        return True
    wanted = _parts(pattern, _PATTERN)
    if wanted is None:
        return is_like(pattern.lower(), text.lower())
    plain = _DROPPED.sub("", text)
    spelled = _LEAD.sub(r"\1://", plain.replace("\\", "/"), count=1)  # as browsers forgive it
    tried = [spelled] if "://" in spelled else [f"{wanted.scheme}://{spelled.lstrip('/')}"]
    tried += [plain.replace("\\", "")] if "\\" in plain else []  # as one more character of a name before `@`
    wanted = wanted._replace(host=_plain_host(wanted.host))
    is_address = _LEAD.match(plain) is not None
    for given in (_parts(each, _FORM) for each in tried):
        if given is None:
            continue
        again = _parts(f"{given.scheme}://{_plain_host(given.host)}", _FORM)  # a port or dot that was hidden
        host = given.host if again is None else again.host
        if is_address and not _is_host(host):
            return True
        readings = [
            given._replace(host=each, rest=rest) for each in {given.host, host} for rest in _rests(given.rest)
        ]
        if any(_same(wanted, reading) for reading in readings):
            return True
    return False


def _written_host(text: str) -> str:
    """The host and port as they are written, in small letters, a default port and a dot at the end left out."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return ""
    scheme, host = found[1].lower(), found[2].lower()
    return host.removesuffix(_PORTS.get(scheme, ":")).removesuffix(".")


def _is_host(host: str) -> bool:
    """Whether a host and its port can be parsed at all."""
    name, bracket, port = host.partition("]") if host.startswith("[") else host.partition(":")
    if bracket == "]":
        from ipaddress import IPv6Address

        try:
            IPv6Address(name[1:].partition("%")[0])
        except ValueError:
            return False
        if port and not port.startswith(":"):
            return False
        port = port[1:]
    elif not name or _FORBIDDEN.search(name) or (_NUMBER.search(name) and not _ipv4(name)):
        return False
    return not port or (
        port.isascii() and port.isdigit() and len(port) <= _DIGITS and int(port) <= _LAST_PORT
    )


def _rests(rest: str) -> list[str]:
    """What is behind the host, in each way in which a client or a server reads its path."""
    path, mark, tail = re.match(r"([^?#]*)([?#]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr] # always
    found = {rest: None}
    for _ in range(_DECODED):
        found[_without_dots(path) + mark + tail] = None
        found[re.sub(r"//+", "/", _without_dots(path)) + mark + tail] = None
        found[_without_dots(re.sub(r";[^/\\]*", "", path)) + mark + tail] = None
        if "%" not in path:
            break
        from urllib.parse import unquote

        path = unquote(path)
    return list(found)


def _without_dots(path: str) -> str:
    """A path without `.` and `..`, written plainly or with %2e, as clients send it."""
    names = re.split(r"[/\\]", path)
    kept: list[str] = []
    for at, name in enumerate(names):
        dots = re.sub("%2e", ".", name, flags=re.IGNORECASE)
        is_last = at == len(names) - 1
        if dots == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif dots != ".":
            kept.append(name)
        if is_last and dots in (".", ".."):
            kept.append("")
    return "/".join(kept)


def _plain_host(host: str) -> str:
    """A host as clients look it up: decoded, normalized, in ASCII, an IPv4 address as four numbers."""
    if len(host) > SIZE:
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
    if len(parts) > _PARTS or not all(re.fullmatch(r"0x[0-9a-f]*|[0-9]+", part) for part in parts):
        return ""
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:  # a digit that the number cannot have, or more digits than any address has
        return ""
    *lead, last = numbers
    if any(number > 255 for number in lead) or last >= 256 ** (_PARTS - len(lead)):
        return ""
    value = last + sum(number << (8 * (3 - at)) for at, number in enumerate(lead))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _number(text: str) -> int:
    base = 16 if text[:2] == "0x" else 8 if text[0] == "0" and len(text) > 1 else 10
    digits = (text[2:] if base == 16 else text).lstrip("0") or "0"
    if len(digits) > 12:
        raise ValueError("more digits than any address has")
    return int(digits, base)


def _ipv6(host: str) -> str:
    """An address in brackets in its shortest form; one that is an IPv4 address, as that."""
    from ipaddress import IPv6Address

    inside, bracket, port = host[1:].partition("]")
    if not bracket:
        return host
    try:
        address = IPv6Address(inside.partition("%")[0])
    except ValueError:
        return host
    return (f"[{address}]" if address.ipv4_mapped is None else str(address.ipv4_mapped)) + port


def _same(wanted: _Address, given: _Address) -> bool:
    rest = wanted.rest or ("*" if wanted.host.endswith("*") else "/")
    return all(
        is_like(pattern, text)
        for pattern, text in (
            (wanted.scheme, given.scheme),
            (wanted.host, given.host),
            (rest, given.rest if given.rest.startswith("/") else f"/{given.rest}"),
        )
    )


def is_like(pattern: str, text: str) -> bool:
    """Whether a text is like a pattern with `*` and `?`, both of which stand for every character."""
    pattern = re.sub(r"\*+", "*", pattern)
    if pattern.count("*") <= _WILDCARDS:
        return re.fullmatch(_glob(pattern), text, re.DOTALL) is not None
    # Each part between two stars is looked for behind the one before it: a regular expression would try all places.
    first, *middle, last = [
        "".join("." if char == "?" else re.escape(char) for char in part) for part in pattern.split("*")
    ]
    head, tail = re.match(first, text, re.DOTALL), re.search(f"{last}\\Z", text, re.DOTALL)
    if head is None or tail is None:
        return False
    at = head.end()
    for part in middle:
        found = re.compile(part, re.DOTALL).search(text, at, tail.start())
        if found is None:
            return False
        at = found.end()
    return at <= tail.start()


def _glob(pattern: str) -> str:
    """The regular expression of a pattern: `*` reaches over everything within its part."""
    words = {"*": ".*", "?": "."}
    return "".join(
        words.get(piece) or re.escape(piece) for piece in re.split(r"(\*+|\?)", pattern.replace("**", "*"))
    )
