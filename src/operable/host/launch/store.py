"""Where launching keeps what people typed: the secrets that the manifest declares, and those that only setup knows of.

A slug of the manifest's SECRETS.md belongs to the vault, which checks who may use it and informs the audit. The values of
steps that the manifest gives no slug are kept by us, under names that no manifest can use (`step.OWN`), one private
file each. An undeclared slug is refused: a manifest could otherwise overwrite another manifest's secret.
"""

from dataclasses import dataclass

from operable.host.launch.login.oauth import Client
from operable.host.launch.step import OWN
from operable.host.secret_backend import SecretScope, fetch, keep
from operable.host.start.vault import Vault
from operable.kernel.errors import Fail

_BACKEND = "file"
_PURPOSE = "setup"


@dataclass(frozen=True, slots=True)
class SecretStore:
    """`operable.host.launch.step.ValueStore`, on the vault of the manifest; None: it has no SECRETS.md."""

    vault: Vault | None = None

    def store(self, slug: str, value: str) -> None:
        if slug.startswith(OWN):
            keep(_BACKEND, None, value, slug=slug)
        elif self.vault is None:
            raise Fail(
                "config",
                "SECRET_UNKNOWN",
                f"no inventory declares the secret {slug!r}",
                target=slug,
                hint="declare it in the SECRETS.md that auth.ref names",
            )
        else:
            self.vault.keep(slug, value, _PURPOSE)

    def get(self, slug: str) -> str | None:
        """The value; None if it does not exist. Fail when it may not be used."""
        if slug.startswith(OWN):
            return fetch(_BACKEND, None, SecretScope(), slug=slug)
        if self.vault is None:
            return None
        try:
            return self.vault.reveal(slug, _PURPOSE).reveal()
        except Fail as fail:
            if fail.category == "not_found":
                return None
            raise

    def client(self, slug: str) -> Client | None:
        """How the provider of an oauth secret is asked, as its entry declares."""
        entry = self.vault.inventory.by_slug(slug) if self.vault is not None else None
        return Client.declared(entry.metadata) if entry is not None else None
