"""Which hosts may be reached: a list of names, decided without any I/O; nothing that is not on it is reachable.

    example.com          this name, on ports 80 and 443
    *.example.com        every name below it, at any depth; not the name itself
    example.com:8443     this port only; `*` for every port
    10.1.2.3, [::1]:80   an address by its number; only so can private, loopback and link-local addresses be reached
    localhost:8399       the host's own loopback, by its name
    *                    every public host

A name that resolves to an address that is not public is refused all the same, unless that address is on the list itself:
otherwise whoever owns a name could point it at the metadata service of a cloud.
"""

import ipaddress
from dataclasses import dataclass

from operable.kernel.errors import Fail

_WEB = (80, 443)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Rule:
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


def parse(text: str) -> Rule:
    """One entry of `network.egress`; Fail when it is none."""
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
        return Rule(host, 0)
    if port is not None and not (port.isdecimal() and 0 < int(port) < 65536):
        raise _invalid(text)
    return Rule(host, None if port is None else int(port))


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
    """Lower case, ASCII, no dot at the end; an address in its one spelling."""
    host = host.strip().rstrip(".").lower()
    number = address(host)
    if number is not None:
        return str(number)
    try:
        return host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
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


class Rules:
    """The list."""

    def __init__(self, entries: tuple[str, ...] = ()) -> None:
        self.entries = entries
        self._rules = [parse(entry) for entry in entries]

    def covers(self, host: str, port: int) -> bool:
        return any(rule.covers(host, port) for rule in self._rules)

    def may_connect(self, host: str, found: str, port: int) -> bool:
        """Whether this address may be connected to, for a host that is on the list."""
        number = address(found.partition("%")[0])
        if number is None:
            return False
        if str(number) == host or self.covers(str(number), port):
            return True
        if host == "localhost":
            return number.is_loopback
        return number.is_global and not number.is_multicast and not _carries_another(number)

    def loopback(self) -> tuple[str, ...]:
        """Entries that name a port of the host's loopback: those can be offered inside under their own number."""
        found: dict[tuple[str, int], str] = {}
        for rule in self._rules:
            number = address("127.0.0.1" if rule.host == "localhost" else rule.host)
            if number is not None and number.is_loopback and rule.port:
                name = f"[{number}]" if number.version == 6 else rule.host
                found.setdefault((str(number), rule.port), f"{name}:{rule.port}")
        return tuple(found.values())


def _carries_another(number: Address) -> bool:
    """IPv6 addresses that a gateway turns into an IPv4 address that we have not looked at."""
    return isinstance(number, ipaddress.IPv6Address) and (
        number.sixtofour is not None
        or number.teredo is not None
        or number in ipaddress.ip_network("64:ff9b::/32")
    )


def _invalid(text: str) -> Fail:
    return Fail(
        "config",
        "EGRESS_INVALID",
        f"not a host that could be allowed: {text!r}",
        target=text,
        hint="write example.com, *.example.com, example.com:8443 or an address",
    )
