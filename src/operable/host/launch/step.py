"""What a setup step is: the contract between `setup`, the entries of `host/steps`, the person and the store of secrets.

A kind of step gets a `StepJob`, does its work, and answers with its value (None: it has none); where the value goes is
`setup`'s business. It raises `StepFailed` with a reason for people. A step that needs a person is never run without one:
`needs_person` says so beforehand.

`SecretStore` keeps what people typed.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Protocol

from operable.host.launch.login.oauth import Client
from operable.host.launch.process import CommandSurroundings
from operable.host.secret_backend import SecretScope, fetch, keep
from operable.host.start.vault import Vault
from operable.kernel.catalogue import load
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.blocks import SetupStep
from operable.proc.terminal import Terminal

_BACKEND = "file"
_PURPOSE = "setup"


class StepFailed(Exception):  # noqa: N818 - an outcome with a reason, not a mistake
    """The step did not succeed."""


# Under this the store keeps what a manifest gives no name; no manifest can name it.
OWN = "operable-setup/"


class ValueStore(Protocol):
    """Where values go that must not be seen: the vault of the workspace."""

    def store(self, slug: str, value: str) -> None: ...
    def get(self, slug: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """One question for a person. `type` is text, select, boolean or secret; `options` are (value, label)."""

    id: str
    prompt: str
    type: str = "text"
    default: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    description: str = ""


class Person(Protocol):
    """A person who can answer now. `terminal` is None where there is no terminal to join to a program's.

    A person who gives up instead of answering causes Fail("cancelled", …): the step then stays open and nothing has failed.
    """

    @property
    def terminal(self) -> Terminal | None: ...
    def ask(self, question: Question) -> str: ...
    def open_url(self, url: str, why: str) -> None: ...


@dataclass(frozen=True, slots=True)
class StepJob:
    """One run of one step. `answer` was given beforehand; `values` are those that its texts refer to."""

    step: Any
    surroundings: CommandSurroundings
    person: Person | None = None
    answer: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    client: Client | None = None  # for oauth: how the provider is asked

    @property
    def required_person(self) -> Person:
        if self.person is None:
            raise StepFailed("it needs a person, and no person is present")
        return self.person


@dataclass(frozen=True, slots=True)
class StepKind:
    """One kind of step."""

    kind: str
    run: Callable[[StepJob], str | None]
    needs_person: Callable[[Any], bool]
    takes_answer: bool = False  # an answer given beforehand stands for the person


def step_kind(step: SetupStep) -> StepKind:
    """The entry of the catalogue for a step of a manifest."""
    kind = str(step.__struct_config__.tag)
    found: StepKind = load("operable.host.steps", kind, "STEP", kind="step kind")
    return found


# Where launching keeps what people typed: the secrets that the manifest declares, and those that only setup knows of.
# A slug of the manifest's SECRETS.md belongs to the vault, which checks who may use it and informs the audit. The
# values of steps that the manifest gives no slug are kept by us, under names that no manifest can use (`step.OWN`), one
# private file each. An undeclared slug is refused: a manifest could otherwise overwrite another manifest's secret.
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
