"""What a setup step is: the contract between `setup`, the entries of `host/steps`, the person and the store of secrets.

A kind of step gets a `StepJob`, does its work, and answers with its value (None: it has none); where the value goes is
`setup`'s business. It raises `StepFailed` with a reason for people. A step that needs a person is never run without one:
`needs_person` says so beforehand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from operable.host.launch.login.oauth import Client
from operable.host.launch.process import CommandSurroundings
from operable.kernel.catalogue import load
from operable.manifest.blocks import SetupStep
from operable.proc.terminal import Terminal


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
