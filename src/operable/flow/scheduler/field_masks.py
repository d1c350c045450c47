"""Showing part of a record, and showing it harmlessly: field masks and sanitising."""

import json
import re
from collections.abc import Iterable
from typing import Any

from operable.flow.manifest.inheritance import Json

# Terminal sequences: CSI (also as one C1 character), and OSC up to its end.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FENCE, _BROKEN_FENCE = "```", "``\u2060`"


def masked(item: Json, names: Iterable[str]) -> Json:
    """Only these members, nested as they were; `a.b` walks into objects and into JSON text. Unknown ones are left out."""
    shown: Json = {}
    for name in names:
        found, value = _walk(item, name.split("."))
        if found:
            _put(shown, name.split("."), value)
    return shown


def _walk(value: Any, steps: list[str]) -> tuple[bool, Any]:
    for step in steps:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return False, None
        if not isinstance(value, dict) or step not in value:
            return False, None
        value = value[step]
    return True, value


def _put(shown: Json, steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        inner = shown.get(step)
        if not isinstance(inner, dict):
            inner = shown[step] = {}
        shown = inner
    shown[steps[-1]] = value


def sanitised(value: Any) -> Any:
    """Every text without terminal sequences, control characters (tab and line ends stay) and closed code fences."""
    if isinstance(value, str):
        plain = _CONTROL.sub("", _TERMINAL.sub("", value))
        return plain.replace(_FENCE, _BROKEN_FENCE)
    if isinstance(value, dict):
        return {name: sanitised(item) for name, item in value.items()}
    if isinstance(value, list):
        return [sanitised(item) for item in value]
    return value
