"""Which hosts may be reached: a list of names, decided without any I/O; nothing that is not on it is reachable.

    example.com          this name, on ports 80 and 443
    *.example.com        every name below it, at any depth; not the name itself
    example.com:8443     this port only; `*` for every port
    10.1.2.3, [::1]:80   an address by its number; only so can private, loopback and link-local addresses be reached
    localhost:8399       the host's own loopback, by its name
    *                    every public host

A name that resolves to an address that is not public is refused nevertheless, unless that address is on the list itself:
otherwise the owner of a name could point it at the metadata service of a cloud.
"""

import ipaddress
import re

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

_WEB = (80, 443)
_LONGEST_NAME = 253  # RFC 1035, as text
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# A name whose last label is a number is an address in an old spelling (127.1, 0x7f.1, 2130706433) to resolvers.
_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class EgressRule:
    """One line of the list."""

    host: str  # lower case, without the dot at the end; a name, "*", "*.name" or an address
    port: int | None  # None: the ports of the web; 0: every port

    def covers(self, host: str, port: int) -> bool:
        if self.port in (0, port) or (self.port is None and port in _WEB):
            return self.names(host)
        return False

    def names(self, host: str) -> bool:
        if self.host == "*":
            # An address by its number has to be named, and so has the host's own loopback; `*` is about names of others.
            return address(host) is None and host != "localhost"
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and address(host) is None
        return host == self.host


def parse(text: str) -> EgressRule:
    """One entry of `network.egress`; Raises Fail if it is not one."""
    host, port = split(text)
    star = host.lstrip("*")
    if (
        not host
        or "*" in star
        or (star and not star.startswith(".") and star != host)
        or any(c in host for c in "/@ ?#")
    ):
        raise _invalid(text)
    if port == "*":
        return EgressRule(host, 0)
    if port is not None and not (port.isdecimal() and 0 < int(port) < 65536):
        raise _invalid(text)
    return EgressRule(host, None if port is None else int(port))


def split(text: str) -> tuple[str, str | None]:
    """(host, port) of `host:port`, `[v6]:port` or either alone; the host in the form in which hosts are compared."""
    if text.startswith("["):
        inside, _, after = text[1:].partition("]")
        return normal(inside), after[1:] if after.startswith(":") else None
    if text.count(":") > 1:
        return normal(text), None  # a bare IPv6 address
    host, colon, port = text.rpartition(":")
    return (normal(host), port) if colon else (normal(text), None)


def normal(host: str) -> str:
    """Lower case, ASCII, no dot at the end; an address in its one spelling; "" if it is neither a name nor an address."""
    host = host.strip().removesuffix(".").lower()
    number = address(host)
    if number is not None:
        return "" if "%" in host else str(number)  # a zone means something on this machine only
    try:
        name = host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        return ""
    plain = name.removeprefix("*.")
    if name == "*" or (len(plain) <= _LONGEST_NAME and _NAME.fullmatch(plain) and not _NUMBER.search(plain)):
        return name
    return ""


def address(host: str) -> Address | None:
    """The address that this is, however it is written in its family; None: a name."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


# Ranges of IANA's registries of special addresses that one version of Python or another calls global.
_SPECIAL_4 = (
    "192.0.0.0/24",  # protocol assignments; a cloud has its metadata there
    "192.88.99.0/24",  # relays of 6to4
    "168.63.129.16/32",  # not special by its number: the host of every machine of Azure
)
_SPECIAL_6 = (
    "2001::/23",  # protocol assignments
    "2001:db8::/32",
    "3fff::/20",  # both for documentation
)


class Rules:
    """The list."""

    def __init__(self, entries: tuple[str, ...] = ()) -> None:
        self.entries = entries
        self._rules = [parse(entry) for entry in entries]

    def covers(self, host: str, port: int) -> bool:
        return any(rule.covers(host, port) for rule in self._rules)

    def names_port(self, host: str, port: int) -> bool:
        """Whether an entry for this host names this very port, rather than leave it to the web or to `*`."""
        return any(rule.port == port and rule.covers(host, port) for rule in self._rules)

    def may_connect(self, host: str, found: str, port: int) -> bool:
        """Whether this address may be connected to, for a host that is on the list."""
        number = address(found.partition("%")[0])
        if number is None:
            return False
        if str(number) == host or self.covers(str(number), port):
            return True
        if host == "localhost":
            return number.is_loopback
        return number.is_global and not number.is_multicast and not _is_special(number)

    def loopback(self) -> tuple[str, ...]:
        """Entries that name a port of the host's loopback: those can be offered inside under their own number."""
        found: dict[tuple[str, int], str] = {}
        for rule in self._rules:
            number = address("127.0.0.1" if rule.host == "localhost" else rule.host)
            if number is not None and number.is_loopback and rule.port:
                name = f"[{number}]" if number.version == 6 else rule.host
                found.setdefault((str(number), rule.port), f"{name}:{rule.port}")
        return tuple(found.values())


def _is_special(number: Address) -> bool:
    """Whether it belongs to a range with a meaning of its own. `is_global` knows fewer of them in older Pythons."""
    if isinstance(number, ipaddress.IPv6Address):
        is_unicast = number in ipaddress.ip_network(
            "2000::/3"
        )  # the only range from which addresses are given out
        return not is_unicast or _in_ranges(number, _SPECIAL_6) or _carries_another(number)
    return _in_ranges(number, _SPECIAL_4)


def _in_ranges(number: Address, ranges: tuple[str, ...]) -> bool:
    return any(number in ipaddress.ip_network(each) for each in ranges)


def _carries_another(number: ipaddress.IPv6Address) -> bool:
    """Whether a gateway turns this IPv6 address into an IPv4 address that was not judged."""
    return (
        number.sixtofour is not None
        or number.teredo is not None
        or (int(number) >> 32) & 0xFDFFFFFF == 0x5EFE  # ISATAP
    )


def _invalid(text: str) -> Fail:
    return Fail(
        "config",
        "EGRESS_INVALID",
        f"not a host that could be allowed: {text!r}",
        target=text,
        hint="write example.com, *.example.com, example.com:8443 or an address",
    )
