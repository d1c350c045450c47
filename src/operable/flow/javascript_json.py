"""JSON as JavaScript prints it, for people and for files: its numbers, its escapes, its two spaces.

Python prints 10.0, 1e-07 and 1e+20 where JavaScript prints 10, 1e-7 and 100000000000000000000. Whoever compares what two
programs wrote, or keeps it under version control, sees each of these as a change.
"""

from collections.abc import Iterable
from typing import Any

from operable.flow.canonical import quoted
from operable.kernel.canonical import number

_EXACT = 2**53


def javascript_json(value: Any, indent: int = 0) -> str:
    """The text of a JSON value, on one line or with this many spaces a level. What is no number there is null."""
    return _text(value, indent, "\n")


def _text(value: Any, indent: int, line: str) -> str:
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return quoted(value)
        case int() if -_EXACT <= value <= _EXACT:
            return str(value)
        case int() | float():
            return _number(value)
        case dict():
            colon = ": " if indent else ":"
            members = (
                quoted(str(name)) + colon + _text(item, indent, line + " " * indent)
                for name, item in value.items()
            )
            return _enclosed("{", members, "}", indent, line)
        case list() | tuple():
            items = (_text(item, indent, line + " " * indent) for item in value)
            return _enclosed("[", items, "]", indent, line)
    raise TypeError(f"{type(value).__name__} is no JSON type")


def _enclosed(opening: str, parts: Iterable[str], closing: str, indent: int, line: str) -> str:
    if not indent:
        return opening + ",".join(parts) + closing
    inner = line + " " * indent
    text = ("," + inner).join(parts)
    return f"{opening}{inner}{text}{line}{closing}" if text else opening + closing


def _number(value: float) -> str:
    try:
        return number(float(value))
    except (OverflowError, ValueError):
        return "null"
