"""The spelling "json-sort-v1" and the digests made of it, as the agentcli family of programs computes them.

It is what JavaScript prints for an object whose keys were sorted and put back: keys that look like array indices come
first, in numeric order, then the others by UTF-16 code units; numbers are doubles in their shortest form; lone
surrogates are escaped. `operable.kernel.canonical` is RFC 8785 and differs in exactly these points, so its digests
are not exchangeable with these.

`parse` reads JSON as JavaScript does: every number is a double, NaN is refused, the last of two equal keys wins. Two
things are stricter: a member named `__proto__`, which JavaScript would silently lose, is refused. So is nesting so
deep that a recursive walk would run out of stack.
"""

import hashlib
import json
import math
from typing import Any

from operable.flow.errors import FlowError
from operable.kernel.canonical import number
from operable.kernel.json import TooDeepError
from operable.kernel.json import parse as json_parse

_escaped = json.JSONEncoder(ensure_ascii=False).encode
_LARGEST_INDEX = 2**32 - 2
_EXACT = 2**53
# JavaScript engines have no fixed limit either; ours is far above any manifest and below the interpreter's stack.
_DEPTH = 200
READ_DEPTH = 256
"""Levels of a text that is read: a document that has a canonical text, and what wraps it, such as a request."""


class UnkeptError(ValueError):
    """JSON that is none for us: a member that JavaScript would lose silently, or nested too deep."""


class NoCanonicalTextError(FlowError, ValueError):
    """A value that has no canonical text: nested too deep, or a number like 1e999. For its author to fix."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_argument", message)


def parse(text: str | bytes) -> Any:
    """A JSON text as JavaScript sees it; Raises ValueError if the text is not canonical JSON."""
    try:
        value = json_parse(text, levels=None, read_integer=_integer, read_double=_double, read_object=_object)
    except TooDeepError:
        raise _too_deep() from None
    _require_shallow(value, text)
    return value


def canonical_text(value: Any) -> str:
    """The canonical text of a JSON value; ValueError for what has none (NaN, too deep)."""
    pieces: list[str] = []
    _write(value, pieces, 0)
    return "".join(pieces)


def canonical_digest(value: Any) -> str:
    """`sha256:` and the digest of the canonical text."""
    return hash_text(canonical_text(value))


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are one in JSON, where true is not 1, as it is in Python."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def hash_text(text: str) -> str:
    """`sha256:` and the digest of the text itself, without JSON quotes."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hash_optional_text(text: str | None) -> str | None:
    return None if text is None else hash_text(text)


def hash_object(value: Any) -> str | None:
    """How secrets are referred to: None for what is not an object, else the canonical digest."""
    return canonical_digest(value) if isinstance(value, dict | list) else None


def stable_id(workflow_id: str, task_id: str) -> str:
    """The id of a compiled task: the same forever, as long as the manifest's ids are."""
    return hashlib.sha256(f"{workflow_id}:{task_id}".encode()).hexdigest()[:32]


def utf16_length(text: str) -> int:
    """The length that JavaScript reports."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def _require_shallow(value: Any, text: str | bytes) -> None:
    opened = (
        text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    )
    if opened <= READ_DEPTH:
        return  # most texts cannot be that deep
    level: list[Any] = [[value]]
    depth = 0
    # What was just read has no other types; asking for them in a kinder way would double the time that reading takes.
    while level := [
        inner
        for outer in level
        for inner in (outer.values() if type(outer) is dict else outer)
        if type(inner) is dict or type(inner) is list
    ]:
        depth += 1
        if depth > READ_DEPTH:
            raise _too_deep()


def _too_deep() -> UnkeptError:
    return UnkeptError(f"nested deeper than {READ_DEPTH} levels")


def _integer(digits: str) -> int | float:
    # int() of a very long literal is quadratic; what does not fit a double exactly is one anyway.
    if len(digits) <= 17:
        value = int(digits)
        if -_EXACT <= value <= _EXACT:
            return value
    return float(digits)


def _double(digits: str) -> int | float:
    """10.00 is 10: there is one kind of numbers, and whatever prints this one again must not make it another text."""
    value = float(digits)
    return int(value) if value.is_integer() and -_EXACT <= value <= _EXACT else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if "__proto__" in value:
        raise UnkeptError('a member named "__proto__" cannot be kept by every reader; rename it')
    return value


def spelled(value: Any) -> str:
    """A value of a request in a message: as JSON has it, and texts without quotes. `None` and `True` are words of ours."""
    try:
        return value if isinstance(value, str) else canonical_text(value)
    except ValueError:  # a number beyond all numbers, or nested too deeply
        return "…"


def _write(value: Any, pieces: list[str], depth: int) -> None:
    if depth > _DEPTH:
        raise NoCanonicalTextError(f"nested deeper than {_DEPTH} levels")
    match value:
        case None | True | False:
            pieces.append({None: "null", True: "true", False: "false"}[value])
        case str():
            pieces.append(quoted(value))
        case int() | float():
            pieces.append(_number(float(value)))
        case dict():
            pieces.append("{")
            for position, key in enumerate(_sorted(value)):
                pieces += ["," if position else "", quoted(key), ":"]
                _write(value[key], pieces, depth + 1)
            pieces.append("}")
        case list() | tuple():
            pieces.append("[")
            for position, item in enumerate(value):
                pieces.append("," if position else "")
                _write(item, pieces, depth + 1)
            pieces.append("]")
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON type")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise NoCanonicalTextError("a number is larger than any number that JSON readers support")
    return number(value)


def _sorted(value: dict[str, Any]) -> list[str]:
    if all(map(str.isascii, value)) and not any(map(str.isdigit, value)):
        return sorted(value)  # nearly every object: every order of these is the same
    return sorted(value, key=_order)


def _order(key: str) -> tuple[int, int, bytes]:
    index = array_index(key)
    return (1, 0, key.encode("utf-16-be", "surrogatepass")) if index is None else (0, index, b"")


def array_index(key: str) -> int | None:
    """The number that JavaScript takes this key for; every object has such keys first, whenever they were set."""
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= 10:
        index = int(key)
        return index if index <= _LARGEST_INDEX else None
    return None


def quoted(text: str) -> str:
    """A text as JSON has it: raw UTF-8, with the escapes that are needed, and lone surrogates escaped."""
    found: str = _escaped(text)
    if not found.isascii() and any("\ud800" <= character <= "\udfff" for character in found):
        found = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in found)
    return found
