"""How deep a JSON value is nested: readers go deeper than writers can, so whoever passes a value on looks first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

DEEPEST: Final = 200
"""Levels that every writer of ours, and of the libraries that we use, can write."""


def too_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether there are more than so many lists and objects inside of each other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        if not level:
            return False
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [inner for values in inside for inner in values if isinstance(inner, dict | list)]
    return bool(level)
