"""What the drafts ask for and the JSON Schemas that we publish, read from the files of this package.

The behaviours are in requirements.toml and, draft by draft, in drafts/*.toml. An id is `draft:section:slug`. The file is
the single source: tests name the ids, the reference page is generated from it. Whether a requirement is met is not
written here; that is what the tests are for.

A schema has a short name: `schema("aoi-events")` is schemas/aoi-events.schema.json. The directory is the registry: a new
file is a new schema. Each has a public `$id` and is JSON Schema 2020-12.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent
_DIRECTORY = _FOLDER / "schemas"
_SUFFIX = ".schema.json"


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
    import tomllib

    files = [_FOLDER / "requirements.toml", *sorted((_FOLDER / "drafts").glob("*.toml"))]
    return [
        Requirement(id, **fields)
        for file in files
        for id, fields in tomllib.loads(file.read_text("utf-8")).items()
        if isinstance(fields, dict)  # `title` is the draft's own
    ]


def titles() -> dict[str, str]:
    """Draft -> its title, for the drafts that have a file of their own."""
    import tomllib

    return {
        file.stem: tomllib.loads(file.read_text("utf-8"))["title"]
        for file in sorted((_FOLDER / "drafts").glob("*.toml"))
    }


def schema_names() -> list[str]:
    """The short names of all published schemas, sorted."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _DIRECTORY.glob(f"*{_SUFFIX}"))


def schema(name: str) -> dict[str, Any]:
    """One published schema, a fresh copy at each call; LookupError names the known ones."""
    if name not in schema_names():
        raise LookupError(f"no published schema {name!r}; there are: {', '.join(schema_names())}")
    document: dict[str, Any] = json.loads((_DIRECTORY / (name + _SUFFIX)).read_text("utf-8"))
    return document
