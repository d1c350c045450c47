"""How a tool call is presented to the user: its kind, its place, what it would change.

The same facts for editors (`calls`) and terminals (`screen`); each shows them in its own way.
"""

import os
from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import kind_of
from operable.kernel.data_class import dataclass

__all__ = [
    "FileChange",
    "TouchedPlace",
    "change_of",
    "kind_of",
    "place_of",
]

_PATHS = ("file_path", "path")
_SHOWN = (
    1024 * 1024
)  # bytes of a file that is about to be overwritten; a larger one is shown as if it were new


@dataclass(frozen=True, slots=True)
class TouchedPlace:
    """What a call touches."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a call would make of a file; `before` is None for a new one."""

    path: str
    before: str | None
    after: str


def place_of(arguments: Any, workspace: str) -> TouchedPlace | None:
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), None)
    if path is None:
        return None
    line = given.get("offset")
    is_line = isinstance(line, int) and not isinstance(line, bool) and line > 0
    return TouchedPlace(os.path.join(workspace, os.path.expanduser(path)), line if is_line else None)


def change_of(name: str, arguments: Any, workspace: str) -> FileChange | None:
    """An edit as its two passages, a write as the whole file; None for a call that changes no file that is known."""
    place = place_of(arguments, workspace)
    if place is None:
        return None
    before, after = arguments.get("old_string"), arguments.get("new_string")
    if name == "Edit" and isinstance(before, str) and isinstance(after, str):
        return FileChange(place.path, before, after)
    content = arguments.get("content")
    if name == "Write" and isinstance(content, str):
        return FileChange(place.path, _contents(place.path), content)
    return None


def _contents(path: str) -> str | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _SHOWN:
            return None
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None
