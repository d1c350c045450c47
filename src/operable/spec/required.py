"""The behaviours that each draft asks for, read from requirements.toml.

An id is `draft:section:slug`. The file is the single source: tests name the ids, the reference page is generated from it.
Whether a requirement is met is not written here; that is what the tests are for.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).parent / "requirements.toml"


class Requirement(NamedTuple):
    """One observable behaviour of one draft."""

    id: str
    level: str
    """MUST, SHOULD or MAY."""
    text: str
    deferred: str | None = None
    """Why nothing implements it yet."""
    divergence: str | None = None
    """Why we knowingly behave otherwise."""

    @property
    def draft(self) -> str:
        return self.id.split(":")[0]

    @property
    def section(self) -> str:
        return self.id.split(":")[1]

    @property
    def order(self) -> tuple[str, tuple[int, ...], str]:
        """Sorts by draft, then by section as numbers (4.1 before 10), then by slug."""
        draft, section, slug = self.id.split(":")
        return draft, tuple(map(int, section.split("."))), slug


def requirements() -> list[Requirement]:
    """All requirements, in the order of the file."""
    return [Requirement(id, **fields) for id, fields in tomllib.loads(_FILE.read_text("utf-8")).items()]
