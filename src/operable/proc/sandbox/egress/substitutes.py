"""Which secrets a session's proxy may put into requests, and where.

A secret goes to the hosts that its declaration names, and only inside TLS: every machine on the way can read plain HTTP.
A declaration that names the port as well (`localhost:8399`) asks for that very service, also without TLS.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from operable.proc.sandbox.egress.rules import Rules

_TLS_PORT = 443  # a declaration that names it does not mean plain HTTP


@dataclass(frozen=True, slots=True)
class Substitute:
    """A placeholder, the hosts it is for, and how to get its value (asked at each use, in a thread; nothing is kept)."""

    name: str
    hosts: tuple[str, ...]
    reveal: Callable[[], str]


class Substitutes:
    """All substitutes of one session."""

    def __init__(self, given: tuple[Substitute, ...] = ()) -> None:
        self._given = {each.name: (each, Rules(each.hosts)) for each in given}

    def __bool__(self) -> bool:
        return bool(self._given)

    def cover(self, host: str, port: int) -> bool:
        """Whether any secret is for this host."""
        return any(rules.covers(host, port) for _, rules in self._given.values())

    def obstacle(self, name: str, host: str, port: int, *, secure: bool) -> str | None:
        """Why this secret may not go there; None: it may."""
        _, rules = self._given.get(name, (None, None))
        if rules is None or not rules.covers(host, port):
            return "secret-not-for-host"
        return None if secure or (port != _TLS_PORT and rules.names_port(host, port)) else "secret-needs-tls"

    def reveal(self, names: Collection[str]) -> dict[str, str]:
        """Fetch the values; blocks, and raises Fail."""
        return {name: self._given[name][0].reveal() for name in names}
