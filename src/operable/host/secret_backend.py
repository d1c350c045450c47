"""What a place for secrets has to offer; the places themselves are in `secrets/`, one per file, ending with `BACKEND`."""

from collections.abc import Callable
from dataclasses import dataclass

from operable.kernel import catalogue

_PACKAGE = "operable.host.secrets"


@dataclass(frozen=True, slots=True)
class SecretBackend:
    """One place where secrets are kept. Nothing here keeps, logs or quotes a value."""

    name: str
    missing: Callable[[], str | None]  # why it cannot be used here
    locate: Callable[[str], str]  # slug -> where it is unless the inventory says otherwise
    read: Callable[[str], str | None]  # None: not there
    write: Callable[[str, str], None] | None = None


def backend(name: str) -> SecretBackend:
    found: SecretBackend = catalogue.load(_PACKAGE, name, "BACKEND", kind="secret backend")
    return found
