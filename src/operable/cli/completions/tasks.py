"""Tasks of the manifest that was typed before them."""

from __future__ import annotations

import os

from operable.cli.completions._packages import head
from operable.tool.discovery.candidates import Candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Bytes: reading a larger manifest would be waited for.
_LARGEST = 1024 * 1024


def tasks(words: list[str]) -> Iterator[tuple[str, str]]:
    """Of the first word that is a file; it is read as JSON, and judged when the command runs."""
    import json

    path = next((word for word in map(os.path.expanduser, words) if os.path.isfile(word)), None)
    data = head(path, _LARGEST + 1) if path else b""
    if not data or len(data) > _LARGEST:
        return
    for workflow in _objects(json.loads(data), "workflows"):
        for task in _objects(workflow, "tasks"):
            if isinstance(task.get("id"), str):
                name = task.get("name")
                yield task["id"], name if isinstance(name, str) else ""


def _objects(value: Any, field: str) -> list[dict[str, Any]]:
    found = value.get(field) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


CANDIDATES = Candidates("flow *:task", "flow run:root", find=tasks)
