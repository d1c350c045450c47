"""The JSON Schemas that we publish, by short name: `schema("aoi-events")` is schemas/aoi-events.schema.json.

A directory is the registry: a new file is a new schema. Each has a public `$id` and is JSON Schema 2020-12.
"""

import json
from pathlib import Path
from typing import Any

_DIRECTORY = Path(__file__).parent / "schemas"
_SUFFIX = ".schema.json"


def schema_names() -> list[str]:
    """The short names of all published schemas, sorted."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _DIRECTORY.glob(f"*{_SUFFIX}"))


def schema(name: str) -> dict[str, Any]:
    """One published schema, a fresh copy at each call; LookupError names the known ones."""
    if name not in schema_names():
        raise LookupError(f"no published schema {name!r}; there are: {', '.join(schema_names())}")
    document: dict[str, Any] = json.loads((_DIRECTORY / (name + _SUFFIX)).read_text("utf-8"))
    return document
