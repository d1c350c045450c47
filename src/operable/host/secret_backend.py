"""Fetching and keeping a secret: the one function for each, and what a place for secrets has to offer.

The places are in `secrets/`, one per file, ending with `BACKEND`. `fetch` asks one of them, in bounds: a value has a largest
size, a program or command that is asked has a time limit, and the caller's redactor knows a value before the caller has it.
Nothing here keeps, logs or quotes a value; an error names the place and never what it held.

A `SecretScope` says whose places are meant. The default is the host's own: its variables, and files that are private to
its user. A workflow has the variables and the folder of its caller, and may allow commands. Who may have a secret is
decided before: `host.start.vault`, `flow.trust`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from operable.kernel import catalogue
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known

_PACKAGE = "operable.host.secrets"
# Private keys and service accounts are below 10 KB; what is larger is not a secret but a mistake.
LIMIT = 64 * 1024
# GnuPG and Vault answer at once, or ask a person who is not there.
TIMEOUT = 15.0
# A shell line, further variables, seconds -> what it prints. Raises ValueError if it fails.
CommandRunner = Callable[[str, Mapping[str, str], float], str]


@dataclass(frozen=True, slots=True)
class SecretScope:
    """Whose places a fetch means, and its bounds."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    cwd: str = ""  # relative paths mean it
    private: bool = True  # whether a file must be the user's own, unreadable to others, and not a link
    limit: int = LIMIT  # bytes
    timeout: float = TIMEOUT
    commands: CommandRunner | None = field(default=None, repr=False)  # None: no command is run
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)  # which a command gets as well
    trim: Callable[[str], str] = str  # what of a text is the value
    known: Known | None = field(default=None, repr=False, compare=False)  # learns each value


class _Reader(Protocol):
    """Reads a location. Returns None if nothing is there."""

    def __call__(self, location: str, scope: SecretScope = ..., /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class SecretBackend:
    """One place where secrets are kept."""

    name: str
    missing: Callable[[], str | None]  # why it cannot be used here
    locate: Callable[[str], str]  # slug -> where it is unless the inventory says otherwise
    read: _Reader
    write: Callable[[str, str], None] | None = None


def backend(name: str) -> SecretBackend:
    found: SecretBackend = catalogue.load(_PACKAGE, name, "BACKEND", kind="secret backend")
    return found


def fetch(name: str, location: str | None, scope: SecretScope, *, slug: str = "") -> str | None:
    """The value at a location of a backend, or where it keeps this slug. Returns None if nothing is there.

    Raises Fail config/SECRET_BACKEND_UNAVAILABLE, or the error of the backend.
    """
    place = backend(name)
    reason = place.missing()
    if reason is not None:
        raise Fail("config", "SECRET_BACKEND_UNAVAILABLE", f"{name}: {reason}", target=slug or location)
    text = place.read(place.locate(slug) if location is None else location, scope)
    if text is None:
        return None
    value = scope.trim(text)
    if value and scope.known is not None:
        scope.known.add(value)
    return value


def keep(name: str, location: str | None, value: str, *, slug: str) -> bool:
    """Put a value where `fetch` finds it. Returns whether the backend can be written to here."""
    place = backend(name)
    if place.write is None or place.missing() is not None:
        return False
    place.write(place.locate(slug) if location is None else location, value)
    return True


def ask_program(
    words: Sequence[str], scope: SecretScope, *, inherit: Sequence[str], absent: str, target: str
) -> str | None:
    """What a program of a secret store prints. Returns None if it says, by the words `absent`, that nothing is there."""
    from operable.proc.run import output
    from operable.proc.spawn import prepare

    done = output(prepare(words, inherit=inherit), timeout=scope.timeout, limit=scope.limit)
    if not done.status:
        return done.text
    if absent in done.stderr:
        return None
    # Only the status: what a program puts into its messages is not known.
    message = f"{os.path.basename(words[0])} cannot read {target} (status {done.status})"
    raise Fail("authz", "SECRET_BACKEND_FAILED", message, target=target)
