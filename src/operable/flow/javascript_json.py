"""JSON as JavaScript prints it, for people and for files: its numbers, its escapes, its order of keys, its two spaces.

Python prints 10.0, 1e-07 and 1e+20 where JavaScript prints 10, 1e-7 and 100000000000000000000. A comparison of what two
programs wrote, and version control, show each of these as a change.
"""

from collections.abc import Iterable
from typing import Any

from operable.flow.canonical import array_index, quoted
from operable.flow.errors import invalid_argument
from operable.kernel.canonical import number

_EXACT = 2**53


def javascript_json(value: Any, indent: int = 0) -> str:
    """The text of a JSON value, on one line or with this many spaces a level. What is not a number there is null."""
    pieces: list[str] = []
    try:
        _write(value, pieces, " " * indent, "\n" if indent else "")
    except RecursionError:
        raise invalid_argument("the document is nested too deeply to be written") from None
    return "".join(pieces)


def _write(value: Any, pieces: list[str], step: str, line: str) -> None:
    """One frame a level, so that whatever can be read can be written again."""
    match value:
        case None | True | False:
            pieces.append({None: "null", True: "true", False: "false"}[value])
        case str():
            pieces.append(quoted(value))
        case int() if -_EXACT <= value <= _EXACT:
            pieces.append(str(value))
        case int() | float():
            pieces.append(_number(value))
        case dict() if value:
            inner, colon = line + step, ": " if step else ":"
            for position, (name, item) in enumerate(_ordered(value)):
                pieces += ["," if position else "{", inner, quoted(name), colon]
                _write(item, pieces, step, inner)
            pieces += [line, "}"]
        case list() | tuple() if value:
            inner = line + step
            for position, item in enumerate(value):
                pieces += ["," if position else "[", inner]
                _write(item, pieces, step, inner)
            pieces += [line, "]"]
        case dict() | list() | tuple():
            pieces.append("{}" if isinstance(value, dict) else "[]")
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON type")


def _ordered(value: dict[Any, Any]) -> Iterable[tuple[str, Any]]:
    members = [(str(name), item) for name, item in value.items()]
    if all(array_index(name) is None for name, _ in members):
        return members
    # Sorting is stable: the others stay as they were set.
    return sorted(members, key=lambda member: _place(array_index(member[0])))


def _place(index: int | None) -> tuple[int, int]:
    return (1, 0) if index is None else (0, index)


def _number(value: float) -> str:
    try:
        return number(float(value))
    except (OverflowError, ValueError):
        return "null"
