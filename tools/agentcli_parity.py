"""The parity checklist as values: which behaviours of the existing implementation we have, and how that is shown."""

import tomllib
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_suffix(".toml")
COVERED, DIFFERS, NOT_APPLICABLE = "covered", "differs on purpose", "not applicable"


class Line(NamedTuple):
    """One behaviour."""

    topic: str
    text: str
    covered: tuple[str, ...]  # requirement ids without their draft
    differs: str | None
    not_applicable: str | None

    @property
    def status(self) -> str | None:
        """What we say of it; None when nothing was said."""
        if self.not_applicable:
            return NOT_APPLICABLE
        if self.differs:
            return DIFFERS
        return COVERED if self.covered else None

    @property
    def requirements(self) -> list[str]:
        return [f"agentcli:{name}" for name in self.covered]


def lines() -> list[Line]:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return [
        Line(
            topic,
            entry["text"],
            tuple(entry.get("covered", ())),
            entry.get("differs"),
            entry.get("not_applicable"),
        )
        for topic, entries in table.items()
        for entry in entries
    ]
