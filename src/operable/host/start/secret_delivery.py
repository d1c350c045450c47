"""How secrets reach a program: as a variable, as a private file, or not at all, with a placeholder instead (AIP-19).

Theory of operation. For each secret the exposures of its entry decide; an entry without any is a variable. `env` and `file`
are fetched once, when the session starts. `egress-substitute` gives the program `$$SECRET[NAME]$$`, and the egress proxy
fetches the value each time it puts it in, for the hosts that it is meant for. The content of a file stays in memory: the
sandbox puts it where the agent looks, without a file of the host. The vault's registry knows each value before the program
has it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.proc.sandbox.egress.placeholders import Substitute

if TYPE_CHECKING:
    from operable.host.start.vault import SecretValue, Vault
    from operable.manifest.kinds.secrets import Exposure
    from operable.manifest.kinds.secrets import Secret as Entry

PURPOSE = "session"
_ENV, _FILE, _EGRESS = "env", "file", "egress-substitute"


@dataclass(slots=True)
class Delivered:
    """What a session gets. Not to be shown: it holds values."""

    env: dict[str, str] = field(default_factory=dict, repr=False)
    files: dict[str, bytes] = field(default_factory=dict, repr=False)  # place inside -> content
    substitutes: list[Substitute] = field(default_factory=list, repr=False)
    withheld: Known = field(default_factory=Known, repr=False)  # values behind placeholders, once fetched

    @property
    def any(self) -> bool:
        return bool(self.env or self.files or self.substitutes)


def deliver(vault: Vault, slugs: Iterable[str], home: str, egress: tuple[str, ...]) -> Delivered:
    """Fetch and prepare. `home`: what `~` is inside; `egress`: the hosts allowed."""
    delivered = Delivered()
    for slug in slugs:
        entry = vault.inventory.by_slug(slug)
        if entry is None:
            raise Fail(
                "not_found", "SECRET_UNKNOWN", f"no inventory declares the secret {slug!r}", target=slug
            )
        _Delivery(vault, entry, delivered, home, egress).run()
    return delivered


@dataclass(slots=True)
class _Delivery:
    vault: Vault
    entry: Entry
    delivered: Delivered
    home: str
    egress: tuple[str, ...]
    secret: SecretValue | None = None

    def run(self) -> None:
        known = [each for each in self.entry.exposures if each.kind in (_ENV, _FILE, _EGRESS)]
        replaced = [each for each in known if each.kind == _EGRESS]
        if replaced:
            # A program that has the placeholder must not have the value beside it.
            self._placeholder(replaced[0])
            return
        for exposure in known:
            if exposure.kind == _FILE:
                self._file(exposure)
            elif exposure.name:
                self.delivered.env[exposure.name] = self._value(exposure.field)
        if not known:
            for name in self.entry.env_names:
                self.delivered.env[name] = self._value(None)

    def _value(self, part: str | None) -> str:
        if self.secret is None:
            self.secret = self.vault.reveal(self.entry.slug, PURPOSE)
        value = self.secret.reveal(part)
        if "\0" in value:
            raise Fail(
                "config",
                "SECRET_INVALID",
                f"the secret {self.entry.slug} cannot be delivered: it has a NUL byte",
            )
        self.vault.known.add(value)
        return value

    def _file(self, exposure: Exposure) -> None:
        place = exposure.path or ""
        if place.startswith("~/"):
            place = f"{self.home}/{place[2:]}"
        if not place.startswith("/") or posixpath.normpath(place) != place:
            raise _invalid(self.entry.slug, f"the path {exposure.path!r} is not absolute and normalised")
        if exposure.mode & 0o177:
            raise _invalid(self.entry.slug, f"the mode {exposure.mode:04o} would let others read it")
        self.delivered.files[place] = self._value(exposure.field).encode("utf-8", "surrogateescape")

    def _placeholder(self, exposure: Exposure) -> None:
        slug, vault, part, withheld = (
            self.entry.slug,
            self.vault,
            exposure.field,
            self.delivered.withheld,
        )

        def reveal() -> str:
            value = vault.reveal(slug, "egress").reveal(part)
            vault.known.add(value)
            withheld.add(value)
            return value

        name = exposure.placeholder_name or self.entry.env_names[0]
        hosts = tuple(host for host in exposure.intended_providers if "." in host or ":" in host)
        if not hosts and exposure.allowed_by_default:
            hosts = self.egress
        if not hosts:
            raise _invalid(slug, "egress-substitute names no host that it is for (intendedProviders)")
        for variable in self.entry.env_names:
            self.delivered.env[variable] = f"$$SECRET[{name}]$$"
        self.delivered.substitutes.append(Substitute(name, hosts, reveal))


def _invalid(slug: str, why: str) -> Fail:
    return Fail(
        "config", "SECRET_EXPOSURE_INVALID", f"the secret {slug} cannot be delivered: {why}", target=slug
    )
