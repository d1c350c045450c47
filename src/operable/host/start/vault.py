"""Secrets by their slug: who may have one, where it is kept, and a note of every use (AIP-19).

Theory of operation. A `Vault` joins an inventory (`SECRETS.md`) with the backends in `secrets/`. `reveal` checks the grants
before any backend is asked, fetches, and informs `on_use`, allowed or not; what it fetched is `known` from
then on. What comes back is a `SecretValue`, which shows its value only on request: not to `print`, not to a log, not to
pickle. Where it goes from here is for `delivery`.

An entry is found by its `backend` (`vault://pass/team/key` or `pass://team/key`: backend and place), or else by its slug
in the backends of the host, in their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal, NoReturn

from operable.host.secret_backend import SecretScope, fetch, keep
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known

if TYPE_CHECKING:
    from operable.manifest.kinds.secrets import Grant, Secrets
    from operable.manifest.kinds.secrets import Secret as Entry

_INDIRECT = "vault"  # vault://DRIVER/PATH names a driver; every other scheme is one
_SHORT = {"pass": "password-store", "env": "environment"}  # what people call them


class SecretValue:
    """A value that does not show itself."""

    __slots__ = ("_value", "slug")

    def __init__(self, slug: str, value: str) -> None:
        self.slug = slug
        self._value = value

    def reveal(self, field: str | None = None) -> str:
        """The value, or one field of a structured one (`accessToken` of an oauth secret)."""
        if field is None:
            return self._value
        try:
            found = json.loads(self._value)[field]
        except (ValueError, KeyError, TypeError):
            found = None
        if not isinstance(found, str):
            raise Fail(
                "config",
                "SECRET_FIELD_MISSING",
                f"the secret {self.slug} has no text field {field!r}",
                target=self.slug,
            )
        return found

    def __repr__(self) -> str:
        return f"<Secret {self.slug}>"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks. `owner`: the person whose inventory it is, for entries that grant nothing."""

    user_id: str
    roles: frozenset[str] = frozenset()
    caps: frozenset[str] = frozenset()
    tool: str | None = None
    workflow: str | None = None
    owner: bool = False


@dataclass(frozen=True, slots=True)
class SecretUse:
    """What the audit learns of one use: never the value."""

    action: str  # secret.reveal, or secret.reveal.denied
    slug: str
    actor: str
    purpose: str
    granted_by: str | None = None  # "role:ops", "owner"
    context: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """For an audit record, which has a time of its own."""
        found: dict[str, object] = {"slug": self.slug, "actor": self.actor, "purpose": self.purpose}
        return found | {"granted_by": self.granted_by, "context": dict(self.context)}


@dataclass(frozen=True, slots=True)
class Vault:
    """An inventory, the backends of the host, and the receiver of uses."""

    inventory: Secrets
    actor: Actor
    backends: tuple[str, ...] = ("environment",)
    on_use: Callable[[SecretUse], object] = lambda _: None
    context: Mapping[str, str] = field(default_factory=dict)
    known: Known = field(default_factory=Known, repr=False)  # learns every value before it is handed out

    def reveal(self, slug: str, purpose: str) -> SecretValue:
        """Fail authz/SECRET_DENIED, not_found/SECRET_UNKNOWN or SECRET_MISSING; nothing is fetched before it is allowed."""
        entry, granted = self._entitled("reveal", slug, purpose)
        value = self._fetch(entry)
        self._tell("secret.reveal", slug, purpose, granted)
        return SecretValue(slug, value)

    def keep(self, slug: str, value: str, purpose: str) -> None:
        """Put a new value where `reveal` will find it. Fail like `reveal`, or config/SECRET_NOT_WRITABLE."""
        entry, granted = self._entitled("rotate", slug, purpose)
        self.known.add(value)
        for name, location in self._places(entry):
            if keep(name, location, value, slug=slug):
                self._tell("secret.rotate", slug, purpose, granted)
                return
        raise Fail(
            "config",
            "SECRET_NOT_WRITABLE",
            f"none of the places of the secret {slug!r} can be written to",
            target=slug,
            hint="let the host use the backend file or keyring",
        )

    def _entitled(self, right: Literal["reveal", "rotate"], slug: str, purpose: str) -> tuple[Entry, str]:
        """The entry, and the grant by which the actor has this right to it."""
        entry = self.inventory.by_slug(slug)
        if entry is None:
            raise Fail(
                "not_found", "SECRET_UNKNOWN", f"no inventory declares the secret {slug!r}", target=slug
            )
        granted = _granted(getattr(entry.access, right), self.actor)
        if granted is None:
            self._tell(f"secret.{right}.denied", slug, purpose, None)
            raise Fail(
                "authz",
                "SECRET_DENIED",
                f"{self.actor.user_id} may not {'use' if right == 'reveal' else 'change'} the secret {slug!r}",
                target=slug,
                hint=f"grant it under access.{right} in SECRETS.md",
            )
        return entry, granted

    def _fetch(self, entry: Entry) -> str:
        places = self._places(entry)
        for name, location in places:
            value = fetch(name, location, SecretScope(known=self.known), slug=entry.slug)
            if value is not None:
                return value
        tried = ", ".join(name for name, _ in places)
        raise Fail(
            "not_found", "SECRET_MISSING", f"the secret {entry.slug!r} is not in {tried}", target=entry.slug
        )

    def _places(self, entry: Entry) -> list[tuple[str, str | None]]:
        return [_place(entry.backend)] if entry.backend else [(name, None) for name in self.backends]

    def _tell(self, action: str, slug: str, purpose: str, granted_by: str | None) -> None:
        self.on_use(SecretUse(action, slug, self.actor.user_id, purpose, granted_by, self.context))


def _place(uri: str) -> tuple[str, str]:
    """(backend, location) of a backend URI."""
    scheme, _, rest = uri.partition("://")
    if scheme == _INDIRECT:
        driver, slash, location = rest.partition("/")
        if not slash or not location:
            raise Fail(
                "config",
                "SECRET_BACKEND_INVALID",
                f"not a place of a secret: {uri!r}",
                hint="vault://DRIVER/PATH",
            )
        return _SHORT.get(driver, driver), location
    return _SHORT.get(scheme, scheme), rest


def _granted(grants: tuple[Grant, ...], actor: Actor) -> str | None:
    """By which grant the actor may; None: by none."""
    if not grants:
        return "owner" if actor.owner else None
    for grant in grants:
        for kind, wanted, held in _compared(grant, actor):
            if wanted is not None and wanted in held:
                return f"{kind}:{wanted}"
    return None


def _compared(grant: Grant, actor: Actor) -> list[tuple[str, str | None, frozenset[str]]]:
    return [
        ("role", grant.role, actor.roles),
        ("userId", grant.user_id, frozenset({actor.user_id})),
        ("cap", grant.cap, actor.caps),
        ("tool", grant.tool, frozenset({actor.tool} - {None})),  # type: ignore[arg-type]
        ("workflow", grant.workflow, frozenset({actor.workflow} - {None})),  # type: ignore[arg-type]
    ]
