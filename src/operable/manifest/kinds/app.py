"""APP.md (Agent Applications): a package whose CLI an agent operates.

Another format and many ordinary files have the same name. This kind is recognised by `schema`, `kind: app` or
`entry.command`, and never when `appType` is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from operable.manifest.blocks import Block
from operable.manifest.kind import Kind
from operable.manifest.rules.app import APP_BODY_RULES, APP_RULES

SCHEMA = "agentapplications/v1"


class AppEntryBlock(Block, frozen=True, kw_only=True):
    command: str


class App(Block, frozen=True, kw_only=True, rename={"confirmation_required": "confirmationRequired"}):
    """The frontmatter of an APP.md."""

    name: str
    description: str
    version: str
    entry: AppEntryBlock
    commands: tuple[str, ...]
    """Command names, or paths of several words: `list`, `item add`."""
    skills: tuple[str, ...]
    schema: str = SCHEMA
    kind: str = "app"
    slug: str | None = None
    license: str | None = None
    authors: tuple[Any, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    scheduling: Literal["supported", "notSupported"] = "notSupported"
    confirmation_required: tuple[str, ...] = ()

    def needs_confirmation(self, command: str) -> bool:
        """Whether a command (its words, one space between) is one that must be confirmed, or is below one."""
        words = command.split()
        return any(words[: len(path)] == path for path in map(str.split, self.confirmation_required))


def _recognise(data: Mapping[str, Any]) -> bool:
    if "appType" in data:
        return False
    entry = data.get("entry")
    return (
        data.get("schema") == SCHEMA
        or data.get("kind") == "app"
        or (isinstance(entry, dict) and "command" in entry)
    )


KIND = Kind(
    name="app",
    file_name="APP.md",
    schema="manifest-app",
    model=App,
    summary="An Agent Application: entry, commands, skills, confirmations.",
    recognise=_recognise,
    rules=APP_RULES,
    body_rules=APP_BODY_RULES,
    open=True,
)
