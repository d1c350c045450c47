"""Validates one item of structured input against its class, naming every problem at once."""

from __future__ import annotations

from operable.tool.records import REQUIRED, Record, field_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.kinds import Kind

_PYTHON = {"string": str, "boolean": bool, "object": dict}
_NAMES = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_NAMES |= {"array": "an array", "object": "an object", "record": "an object"}


def build(model: type[Record], data: dict[str, Any], problems: list[str], path: str = "") -> Record | None:
    """An instance of `model`, or None with the reasons added to `problems`."""
    kinds = field_kinds(model)
    before = len(problems)
    unknown = [name for name in data if name not in kinds]
    if unknown:
        problems.append(f"unknown field {path}{unknown[0]}; known are {', '.join(kinds)}")
    values: dict[str, Any] = {}
    for name, kind in kinds.items():
        if name in data:
            values[name] = _value(data[name], kind, problems, f"{path}{name}")
        elif model.__fields__[name] is REQUIRED:
            problems.append(f"missing field {path}{name}")
    return model(**values) if len(problems) == before else None


def _value(value: Any, kind: Kind, problems: list[str], path: str) -> Any:
    if value is None and kind.nullable:
        return None
    base = kind.base
    if base == "any":
        return value
    if base == "choice":
        if not any(value == choice and type(value) is type(choice) for choice in kind.choices):
            problems.append(f"{path} must be one of {', '.join(map(str, kind.choices))}")
        return value
    if base == "record" and kind.model is not None and isinstance(value, dict):
        return build(kind.model, value, problems, f"{path}.")
    if base == "array" and isinstance(value, list):
        item = kind.item
        return (
            value
            if item is None
            else [_value(v, item, problems, f"{path}[{i}]") for i, v in enumerate(value)]
        )
    if base == "union":
        return _one_of(value, kind, problems, path)
    if _is_scalar(value, base):
        return value
    problems.append(f"{path} must be {_NAMES.get(base, base)}")
    return None


def _is_scalar(value: Any, base: str) -> bool:
    if base == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if base == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return base in _PYTHON and isinstance(value, _PYTHON[base])


def _one_of(value: Any, kind: Kind, problems: list[str], path: str) -> Any:
    for option in kind.options:
        attempt: list[str] = []
        result = _value(value, option, attempt, path)
        if not attempt:
            return result
    problems.append(f"{path} has none of the allowed types")
    return None
