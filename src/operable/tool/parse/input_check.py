"""Validates one item of structured input against its class, naming every problem at once."""

from __future__ import annotations

from operable.tool.declare.records import REQUIRED, Record, field_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declare.kinds import Kind

_NAMES = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_NAMES |= {"array": "an array", "object": "an object", "record": "an object", "null": "null"}

# Of a wrong field, and of wrong fields, this much is repeated in a complaint.
_SHOWN = 40


def build(model: type[Record], data: dict[str, Any], problems: list[str]) -> Record | None:
    """An instance of `model`, or None with the reasons added to `problems`."""
    try:
        return _build(model, data, problems, "")
    except RecursionError:
        problems.append("it nests too deep")
        return None


def _build(model: type[Record], data: dict[str, Any], problems: list[str], path: str) -> Record | None:
    names = model.__wire_names__
    before = len(problems)
    unknown = [name for name in data if name not in names.values()]
    if unknown:
        listed = ", ".join(f"{path}{name[:_SHOWN]}" for name in unknown[:_SHOWN])
        problems.append(f"unknown field {listed}; known are {', '.join(names.values())}")
    values: dict[str, Any] = {}
    for field, kind in field_kinds(model).items():
        name = names[field]
        if name in data:
            values[field] = _value(data[name], kind, problems, f"{path}{name}")
        elif model.__fields__[field] is REQUIRED:
            problems.append(f"missing field {path}{name}")
    return model(**values) if len(problems) == before else None


def _value(value: Any, kind: Kind, problems: list[str], path: str) -> Any:
    if kind.base == "any" or (value is None and (kind.nullable or kind.base == "null")):
        return value
    if kind.base == "choice":
        for choice in kind.choices:
            if value == choice and isinstance(value, bool) == isinstance(choice, bool):
                return choice
        problems.append(f"{path} must be one of {', '.join(map(str, kind.choices))}")
        return None
    if kind.base == "record" and kind.model is not None and isinstance(value, dict):
        return _build(kind.model, value, problems, f"{path}.")
    if kind.base == "array" and isinstance(value, list):
        item = kind.item
        return (
            value
            if item is None
            else [_value(v, item, problems, f"{path}[{i}]") for i, v in enumerate(value)]
        )
    if kind.base == "union":
        return _one_of(value, kind, problems, path)
    return _scalar(value, kind, problems, path)


def _scalar(value: Any, kind: Kind, problems: list[str], path: str) -> Any:
    if kind.base == "string" and isinstance(value, str):
        return value if kind.model is None else kind.model(value)
    if kind.base == "boolean" and isinstance(value, bool):
        return value
    if kind.base == "object" and isinstance(value, dict):
        return value
    if kind.base in ("integer", "number") and isinstance(value, int | float) and not isinstance(value, bool):
        if kind.base == "number" or isinstance(value, int):
            return value
        if (
            value.is_integer()
        ):  # 1.0 is a whole number in JSON Schema, and to some languages the only way to write one
            return int(value)
    problems.append(f"{path} must be {_NAMES.get(kind.base, kind.base)}")
    return None


def _one_of(value: Any, kind: Kind, problems: list[str], path: str) -> Any:
    for option in kind.options:
        attempt: list[str] = []
        result = _value(value, option, attempt, path)
        if not attempt:
            return result
    problems.append(f"{path} has none of the allowed types")
    return None
