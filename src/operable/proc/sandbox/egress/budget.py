"""What one sandbox may take of its host through the proxy: connections, memory, time and records of the audit.

`Bounds` are the numbers. `Memory` counts the bytes of request bodies that are held, over all connections. `AttemptLog`
reports each attempt at once, but not each repetition: the first, the second, the fourth and so on are reported, each
with the number of attempts since the last record, and the rest when the session ends. So the counts of all records add
up to all attempts, and a program that tries a million times leaves twenty records. Beyond the bound of distinct places,
a record names no place.
"""

from collections.abc import Callable
from contextlib import suppress

from operable.kernel.data_class import dataclass

OTHERS = "(others)"  # not a name that a host can have


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one proxy."""

    connections: int = 128  # at once; a browser uses six per host, a package manager about fifty
    head: int = 32 * 1024  # of a request or a response; nginx accepts as much
    body: int = (
        32 * 1024 * 1024
    )  # of one request that is looked into; other bodies are passed on as they come
    memory: int = 64 * 1024 * 1024  # of all bodies that are held at once
    handshake: float = 30.0  # seconds until a head or a TLS handshake is whole
    upload: float = 120.0  # seconds until a body that is looked into is whole
    connect: float = 30.0
    idle: float = 900.0  # seconds without a byte in either direction; models think long
    total: int | None = None  # bytes in both directions, over all connections
    places: int = 512  # distinct (host, port, outcome) that get records of their own
    singles: int = 256  # allowed requests to one place that are reported one by one


class Exhausted(Exception):  # noqa: N818 - a state, not an error of the program
    """The session holds as much as it may."""


class Memory:
    """Bytes that are held for one session."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0

    def take(self, size: int) -> None:
        if self.held + size > self.limit:
            raise Exhausted
        self.held += size

    def release(self, size: int) -> None:
        self.held -= size


@dataclass(frozen=True, slots=True)
class Attempt:
    """Attempts to reach a place; never with a path, a header or a value in it."""

    host: str
    port: int
    allowed: bool
    reason: str  # "allowed", or why not: "not-listed", "private-address", "unresolvable", "secret-not-for-host", …
    secrets: tuple[str, ...] = ()  # names of the secrets that were put in
    count: int = 1  # how many attempts this record stands for


@dataclass(slots=True)
class _Tally:
    seen: int = 0
    reported: int = 0


class AttemptLog:
    """Reports to `on_attempt` what happened, in a bounded number of records."""

    def __init__(self, on_attempt: Callable[[Attempt], object], bounds: Bounds) -> None:
        self._on_attempt = on_attempt
        self._bounds = bounds
        self._tallies: dict[tuple[str, int, str, tuple[str, ...]], _Tally] = {}

    def report(self, host: str, port: int, reason: str, secrets: tuple[str, ...] = ()) -> None:
        key = (host, port, reason, secrets)
        if key not in self._tallies and len(self._tallies) >= self._bounds.places:
            key = (OTHERS, 0, reason, ())  # reasons are a few dozen
        tally = self._tallies.setdefault(key, _Tally())
        tally.seen += 1
        one_by_one = self._bounds.singles if reason == "allowed" and key[0] != OTHERS else 1
        if tally.seen <= one_by_one or tally.seen >= 2 * tally.reported:
            self._tell(key, tally)

    def close(self) -> None:
        """Report the attempts that no record covers yet."""
        for key, tally in self._tallies.items():
            if tally.seen > tally.reported:
                # The place has a record, or its requests were refused; the end of a session must not fail for a count.
                with suppress(Exception):
                    self._tell(key, tally)

    def _tell(self, key: tuple[str, int, str, tuple[str, ...]], tally: _Tally) -> None:
        host, port, reason, secrets = key
        count = tally.seen - tally.reported
        self._on_attempt(Attempt(host, port, reason == "allowed", reason, secrets, count))
        tally.reported = tally.seen  # not before: a record that failed is owed
