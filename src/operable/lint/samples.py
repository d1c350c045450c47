"""Arguments to try a command with, best first: the profile's, those of the documented examples, generated ones.

Generated values come from the input schema: what is required, and nothing else; one value per JSON type, the first of an
enumeration, bounds respected. `x-cli` says where a word belongs on the command line, if the tool has it; else a
property is taken to be an option.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

# Options that decide whether something happens, or how it is shown: an example's own choice would blur an experiment.
_DROPPED = {
    "--output": 1,
    "--format": 1,
    "--confirm": 0,
    "--confirm-count": 1,
    "--dry-run": 0,
    "--idempotency-key": 1,
    "--yes": 0,
}
_SHELL = ("|", "<", ">", ">>", "&&", ";")


def from_examples(examples: Any, tool: str, words: Sequence[str]) -> Iterator[list[str]]:
    """The arguments in the documented examples of a command; those that need a shell are passed over."""
    for example in examples if isinstance(examples, list) else ():
        try:
            found = shlex.split(example) if isinstance(example, str) else []
        except ValueError:
            continue
        if found[:1] == ["$"]:
            found = found[1:]
        if found and found[0].rpartition("/")[2] == tool:
            found = found[1:]
        elif list(found[1 : 1 + len(words)]) == list(words):
            found = found[1:]  # it is installed under another name than its own
        if any(word in _SHELL for word in found) or found[: len(words)] != list(words):
            continue
        yield _stripped(found[len(words) :])


def _stripped(words: list[str]) -> list[str]:
    kept: list[str] = []
    position = 0
    while position < len(words):
        name, equals, _ = words[position].partition("=")
        if words[position] == "--":
            return kept + words[position:]
        if name in _DROPPED:
            position += 1 if equals else 1 + _DROPPED[name]
            continue
        kept.append(words[position])
        position += 1
    return kept


def from_schema(schema: Any, *, other: bool = False) -> list[str] | None:
    """Arguments that an input schema should accept; None when there is no such schema. `other`: different ones."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return None
    required = schema.get("required")
    operands: list[str] = []
    options: list[str] = []
    for name in required if isinstance(required, list) else ():
        rule = properties.get(name, {})
        value = _text(example_value(rule, other=other))
        flag = flag_of(name, rule)
        if flag is None:
            operands.append(value)
        else:
            options += [flag, value] if rule.get("type") != "boolean" else [flag]
    return [*operands, *options]


def flag_of(name: str, rule: Any) -> str | None:
    """How a property is written on the command line; None: as an operand."""
    place = rule.get("x-cli") if isinstance(rule, dict) else None
    if isinstance(place, str):
        return place.split()[0] if place.startswith("-") else None
    return f"--{name.replace('_', '-')}"


def options_of(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The options of a command with what the input schema says of their values."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, rule in properties.items() if isinstance(properties, dict) else ():
        flag = flag_of(name, rule)
        if flag is not None and isinstance(rule, dict):
            yield flag, rule


def example_value(rule: Any, *, other: bool = False) -> Any:
    """A value that a schema allows, as far as its plain keywords say."""
    if not isinstance(rule, dict):
        return "sample"
    for key in ("const", "default"):
        if rule.get(key) not in (None, "") and not other:
            return rule[key]
    if isinstance(rule.get("enum"), list) and rule["enum"]:
        return rule["enum"][-1 if other else 0]
    if isinstance(rule.get("examples"), list) and rule["examples"] and not other:
        return rule["examples"][0]
    kind = rule.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return example_item(rule, other=other)
    if kind == "array":
        return [example_value(rule.get("items"), other=other)]
    if kind in ("integer", "number"):
        least = rule.get("minimum", rule.get("exclusiveMinimum", 0) + 1)
        return least + (1 if other else 0)
    if kind == "boolean":
        return not other
    return "other" if other else "sample"


def example_item(schema: Any, *, other: bool = False) -> dict[str, Any]:
    """An object with the required properties of a schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    return {name: example_value(properties.get(name), other=other) for name in required or ()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value[0] if isinstance(value, list) and value else value)
