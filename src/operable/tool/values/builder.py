"""Makes values of their declared types from JSON, naming every problem at once: structured input, and words that are JSON.

What is not declared is refused: a field that is unknown is most likely misspelt, and would be lost without a word.
"""

from __future__ import annotations

from operable.tool.annotations import field_kinds
from operable.tool.kinds import REQUIRED, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from operable.tool.kinds import ValueKind
    from operable.tool.records import Event, Record
    from operable.tool.signature import Command

_NAMES = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_NAMES |= {"array": "an array", "object": "an object", "record": "an object", "null": "null"}
# Of a wrong field, and of wrong fields, this much is repeated in a complaint.
_SHOWN = 40


def value_of_json(text: str, kind: ValueKind) -> Any:
    """A word of the command line that is JSON, as a value; raises ValueError with what it must be."""
    from operable.kernel.json import parse

    try:
        value = parse(text, surrogates="refuse")
    except ValueError:
        raise ValueError(f"must be {_NAMES[kind.base]} in JSON") from None
    problems: list[str] = []
    built = built_value(value, kind, problems, "")
    if problems:
        raise ValueError(f"is not right: {'; '.join(problem.strip() for problem in problems[:5])}")
    return built


def build(model: type[Record], data: dict[str, Any], problems: list[str]) -> Any:
    """An instance of `model`, or None with the reasons added to `problems`."""
    try:
        return _build(model, data, problems, "")
    except RecursionError:
        problems.append("it nests too deep")
        return None


def _build(model: type[Record], data: dict[str, Any], problems: list[str], path: str) -> Any:
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
            values[field] = built_value(data[name], kind, problems, f"{path}{name}")
        elif model.__fields__[field] is REQUIRED:
            problems.append(f"missing field {path}{name}")
    if len(problems) != before:
        return None
    source = getattr(model, "__source__", None)
    try:
        # Of a TypedDict, a dictionary with what is there; a dataclass fills in its own defaults.
        return model(**values) if source is None else source(**values)
    except ValueError as problem:  # the author's own rule, of a dataclass
        problems.append(f"{path.rstrip('.') or 'the whole'}: {problem}")
        return None


def built_value(value: Any, kind: ValueKind, problems: list[str], path: str) -> Any:
    """One value of a type; None with the reasons added to `problems`. `path` names it."""
    before = len(problems)
    built = _value(value, kind, problems, path)
    if kind.must is not None and built is not None and len(problems) == before:
        problem = kind.must.problem(built)
        if problem:
            problems.append(f"{path} {problem}")
    return built


def _value(value: Any, kind: ValueKind, problems: list[str], path: str) -> Any:
    if kind.base == "any" or (value is None and (kind.nullable or kind.base == "null")):
        return value
    if kind.base == "choice":
        for choice in kind.choices:
            if value == choice and isinstance(value, bool) == isinstance(choice, bool):
                return kind.chosen(choice)
        problems.append(f"{path} must be one of {', '.join(map(spelled, kind.choices))}")
        return None
    if kind.base == "record" and kind.model is not None and isinstance(value, dict):
        return _build(kind.model, value, problems, f"{path}." if path else "")
    if kind.base == "array" and isinstance(value, list):
        item = kind.item
        return (
            value
            if item is None
            else [built_value(v, item, problems, f"{path}[{i}]") for i, v in enumerate(value)]
        )
    if kind.base == "object" and isinstance(value, dict) and kind.item is not None:
        return {
            name: built_value(inner, kind.item, problems, f"{path}.{name[:_SHOWN]}")
            for name, inner in value.items()
        }
    if kind.base == "union":
        return _one_of(value, kind, problems, path)
    return _scalar(value, kind, problems, path)


def _scalar(value: Any, kind: ValueKind, problems: list[str], path: str) -> Any:
    if kind.base == "string" and isinstance(value, str):
        return _of_text(value, kind, problems, path)
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


def _of_text(value: str, kind: ValueKind, problems: list[str], path: str) -> Any:
    if kind.form is None:
        return value if kind.model is None else kind.model(value)
    try:
        return kind.form.value(value)
    except ValueError as problem:
        problems.append(f"{path} {problem}")
        return None


def _one_of(value: Any, kind: ValueKind, problems: list[str], path: str) -> Any:
    for option in kind.options:
        attempt: list[str] = []
        result = built_value(value, option, attempt, path)
        if not attempt:
            return result
    problems.append(f"{path} has none of the allowed types")
    return None


# The development switch `OPERABLE_DEVELOP`, and the runner of tests: in production an event is written as it is. Here each
# is read back as a strict consumer would read it.


def held(command: Command, encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same encoder, for values that are what the command promises; any other is refused by name."""
    promised: dict[str, type[Event]] = {event.wire_type: event for event in command.event_classes()}

    from operable.kernel.errors import Fail
    from operable.kernel.json import parse
    from operable.tool.records import json_text

    def checked(item: Any) -> Any:
        event = parse(json_text(item), levels=None)
        if command.document:
            return encode(item)
        problems = list(_problems(event, promised))
        if problems:
            message = f"{command.name} does not keep its promise: {'; '.join(problems[:5])}"
            raise Fail("internal", "EVENT_NOT_AS_DECLARED", message, target=str(event.get("type")))
        return encode(item)

    return checked


def _problems(event: dict[str, Any], promised: dict[str, type[Event]]) -> list[str]:
    model = promised.get(str(event.get("type")))
    if model is None:
        known = ", ".join(promised) or "none"
        return [f"{event.get('type')} is not among the events of its annotation ({known})"]
    names = model.__wire_names__
    problems = [f"unknown field {name}" for name in event if name != "type" and name not in names.values()]
    for field, kind in field_kinds(model).items():
        name = names[field]
        if name in event:
            built_value(event[name], kind, problems, name)
        elif model.__fields__[field] is REQUIRED:
            problems.append(f"missing field {name}")
    return problems
