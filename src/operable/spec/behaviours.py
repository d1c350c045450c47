"""The behaviours that each draft asks for, read from requirements.toml and, draft by draft, from drafts/*.toml.

An id is `draft:section:slug`. The file is the single source: tests name the ids, the reference page is generated from it.
Whether a requirement is met is not written here; that is what the tests are for.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent


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
    def order(self) -> tuple[str, tuple[int, ...], str, str]:
        """Sorts by draft, then by section (as numbers, 4.1 before 10; as a word where the draft has none), then by slug."""
        draft, section, slug = self.id.split(":")
        numbered = section[0].isdigit()
        return draft, tuple(map(int, section.split("."))) if numbered else (), section, slug


def requirements() -> list[Requirement]:
    """All requirements, in the order of the files."""
    files = [_FOLDER / "requirements.toml", *sorted((_FOLDER / "drafts").glob("*.toml"))]
    return [
        Requirement(id, **fields)
        for file in files
        for id, fields in tomllib.loads(file.read_text("utf-8")).items()
        if isinstance(fields, dict)  # `title` is the draft's own
    ]


def titles() -> dict[str, str]:
    """Draft -> its title, for the drafts that have a file of their own."""
    return {
        file.stem: tomllib.loads(file.read_text("utf-8"))["title"]
        for file in sorted((_FOLDER / "drafts").glob("*.toml"))
    }
