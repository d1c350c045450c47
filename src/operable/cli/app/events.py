"""The events of `operable app …` and `operable init app`."""

from __future__ import annotations

from operable.cli.agent.events import ManifestProblem
from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class AppEvent(Event, type="app"):
    """One application package, as its frontmatter describes it."""

    slug: str
    name: str
    description: str
    version: str
    kind: Literal["app"]
    commands: list[str]
    confirmation_required: list[str]  # these, and all below them, need the user's confirmation
    scheduling: Literal["supported", "notSupported"]
    source: Literal["project", "user", "explicit"]
    trust: Literal["own", "approved", "changed", "unapproved"]  # changed, unapproved: a call is refused
    standing: str  # why a call is allowed or refused
    path: str
    problem: str | None = None  # why it cannot be used


class AppDetails(Event):
    """One application package: what an agent reads before it uses it, and its state."""

    slug: str
    name: str
    description: str
    version: str
    source: str
    trusted: bool  # whether it may run, with the content that it has now
    standing: str  # why it may, or may not
    digest: str | None = None  # what an approval would be for; null: it could not be approved
    entry: list[str]  # the words that every call begins with
    shell: bool  # whether it wants to be run by a shell
    state: list[str]  # folders of its own data, which approvals leave out
    rights: list[str]  # what its sandbox lets it do; all of yours: it has none
    commands: list[str]
    confirmation_required: list[str]
    scheduling: str
    skills: dict[str, str]  # name -> text
    body: str
    path: str


class AppResource(Event):
    """One file of a package."""

    path: str
    size: int
    text: str | None = None
    content_b64: str | None = None  # of what is not UTF-8


class AppProblem(ManifestProblem):
    """One complaint about one place of a package."""


class AppVerdict(Event):
    """Whether a folder is a package that conforms."""

    path: str
    ok: bool
    related: bool  # false: an APP.md of another format, or prose
    errors: int
    warnings: int


class AppApproval(Event):
    """The user approved exactly this content, or no longer does."""

    slug: str
    approved: bool
    digest: str | None = None
    shell: bool
    path: str


class AppSigned(Event):
    """A package has a signature of exactly these files."""

    path: str
    digest: str
    key: str  # the fingerprint, as ssh-keygen -l prints it


class AppEntry(Event):
    """One result of a command of an application."""

    value: Any


class AppSchedule(Event):
    """One scheduling command that an APP.md documents."""

    command: str
    usage: str


class FileWritten(Event):
    """A file of something new."""

    path: str
