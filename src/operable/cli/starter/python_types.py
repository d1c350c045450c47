"""JSON Schema as types of Python: TypedDicts for objects, Literal for choices; what it cannot say is Any."""

from __future__ import annotations

import keyword
import re
from typing import Any

_WORD = re.compile(r"[A-Za-z0-9]+")
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Objects in objects, and choices: beyond this a type helps no reader.
_DEPTH = 8
_CHOICES = 60


def snake(name: str) -> str:
    """A name as one of Python's for functions and parameters."""
    word = "_".join(_WORD.findall(name)).lower()
    word = f"n{word}" if word[:1].isdigit() else word
    return f"{word}_" if keyword.iskeyword(word) else word


def camel(name: str) -> str:
    """A name as one of Python's for classes."""
    word = "".join(part[:1].upper() + part[1:] for part in _WORD.findall(name))
    word = f"N{word}" if word[:1].isdigit() or not word else word
    return f"{word}_" if keyword.iskeyword(word) else word


class Names:
    """Names that are each given once."""

    def __init__(self, taken: tuple[str, ...]) -> None:
        self._taken = set(taken)

    def take(self, name: str) -> str:
        name = name or "_"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def documented(text: str, indent: str) -> str:
    """A docstring with this text, whatever is in it."""
    lines = ["".join(letter for letter in line if letter.isprintable()) for line in text.splitlines()]
    whole = f"\n{indent}".join(line[:500] for line in lines).replace("\\", "\\\\").replace('"""', "'''")
    whole = re.sub(r"[ \t]+\n", "\n", whole)
    ending = f"\n{indent}" if len(lines) > 1 else " " if whole.endswith('"') else ""
    return f'{indent}"""{whole}{ending}"""'


class TypeWriter:
    """The types of the events of one tool, each a class that is written once; `classes` are their texts, in order."""

    def __init__(self, names: Names, schema: dict[str, Any]) -> None:
        definitions = schema.get("$defs")
        self._definitions: dict[str, Any] = definitions if isinstance(definitions, dict) else {}
        self._names = names
        self._made: dict[str, str] = {}
        self.classes: list[str] = []

    def event(self, kind: str) -> str:
        """The type of the events of this kind."""
        definition = next((each for each in self._definitions.values() if _kind_of(each) == kind), None)
        return (
            "Mapping[str, Any]" if definition is None else self._class(f"event {kind}", kind, definition, 0)
        )

    def item(self, schema: dict[str, Any], command: str) -> str:
        """The type of one item of the structured input of a command; its `type` only selects, and may be left out."""
        self._definitions = {**schema.get("$defs", {}), **self._definitions}
        properties = {key: each for key, each in schema.get("properties", {}).items() if key != "type"}
        described = {
            "description": f"One item of the input of {command}.",
            **schema,
            "properties": properties,
        }
        return self._class(f"item {command}", f"{command} item", described, 0)

    def parameter(self, schema: dict[str, Any], name: str) -> str:
        """The type of a parameter; a sequence is any sequence."""
        return self._type(schema, name, 0).replace("list[", "Sequence[")

    def _type(self, schema: Any, name: str, depth: int) -> str:
        if not isinstance(schema, dict) or depth > _DEPTH:
            return "Any"
        if isinstance(reference := schema.get("$ref"), str):
            key = reference.rpartition("/")[2]
            found = self._definitions.get(key)
            return "Any" if not isinstance(found, dict) else self._class(f"ref {key}", key, found, depth)
        if "const" in schema or isinstance(schema.get("enum"), list):
            return _choice([schema["const"]] if "const" in schema else schema["enum"])
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list):
            return _union([self._type(each, name, depth + 1) for each in options])
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return _union([self._type({**schema, "type": kind}, name, depth) for kind in kinds])
        if kinds == "array":
            return f"list[{self._type(schema.get('items'), name, depth + 1)}]"
        if kinds == "object":
            if isinstance(schema.get("properties"), dict) and schema["properties"]:
                return self._class("", name, schema, depth)
            return f"Mapping[str, {self._type(schema.get('additionalProperties'), name, depth + 1)}]"
        return _SCALARS.get(kinds, "Any") if isinstance(kinds, str) else "Any"

    def _class(self, key: str, name: str, schema: dict[str, Any], depth: int) -> str:
        """The name of the class for an object. An unnamed one is known by what it says."""
        key = key or f"{camel(name)} {schema!r}"
        if key in self._made:
            return self._made[key]
        made = self._made[key] = self._names.take(camel(name))
        required = schema.get("required") or ()
        fields: dict[str, str] = {}
        for field, each in (schema.get("properties") or {}).items():
            hint = self._type(each, f"{name} {field}", depth + 1)
            fields[str(field)] = hint if field in required else f"NotRequired[{hint}]"
        self.classes.append(_typed_dict(made, str(schema.get("description") or ""), fields))
        return made


def _typed_dict(name: str, text: str, fields: dict[str, str]) -> str:
    if all(field.isidentifier() and not keyword.iskeyword(field) for field in fields):
        lines = [documented(text, "    ")] if text else []
        lines += [f"    {field}: {hint}" for field, hint in fields.items()] or (
            ["    pass"] if not text else []
        )
        return f"class {name}(TypedDict):\n" + "\n".join(lines) + "\n"
    # Such names have no place in a class; the types are read at once, so they are quoted.
    inner = "".join(f"\n        {field!r}: {hint!r}," for field, hint in fields.items())
    return f"{name} = TypedDict(\n    {name!r},\n    {{{inner}\n    }},\n)\n"


def _kind_of(definition: Any) -> Any:
    properties = definition.get("properties") if isinstance(definition, dict) else None
    rule = properties.get("type") if isinstance(properties, dict) else None
    return rule.get("const") if isinstance(rule, dict) else None


def _choice(values: list[Any]) -> str:
    if (
        len(values) > _CHOICES
        or not all(isinstance(each, str | int | bool | None) for each in values)
        or not values
    ):
        return "Any"
    return f"Literal[{', '.join(map(repr, values))}]"


def _union(hints: list[str]) -> str:
    found = list(dict.fromkeys(hints))
    if "Any" in found or not found:
        return "Any"
    found.sort(key=lambda hint: hint == "None")
    return " | ".join(found)
