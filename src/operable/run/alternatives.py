"""A JSON Schema as the alternatives it allows: one entry per JSON type, references followed, unions taken apart.

Two schemas can say the same in many ways: `type: [string, null]`, `anyOf` of both, an `enum` that contains null. To compare
them, each is first brought to a list of `Alternative`s with exactly one type, with `$ref` resolved, `allOf` merged and
`anyOf`/`oneOf` flattened. What cannot be merged stays in `allOf`, where only its equality is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from operable.kernel.data_class import dataclass

ANY = "any"
_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
# A schema without `type` allows everything; but an author who writes `properties` does not mean numbers.
_IMPLIED = {
    "object": (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "minProperties",
        "maxProperties",
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
# What does not constrain a value.
_REMARKS = (
    "title",
    "description",
    "default",
    "examples",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$id",
    "$schema",
)
# References in references, unions in unions: deeper than any schema a person wrote.
_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Alternative:
    """One thing that a value may be."""

    type: str
    schema: dict[str, Any]


class SchemaDocument:
    """A schema document, in which references can be looked up."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        # The same schema gives the same objects each time, so that a walk can see by identity where it has been. The key
        # is an identity too, which holds because the schema is kept beside the result.
        self._taken_apart: dict[int, tuple[Any, list[Alternative]]] = {}
        self._resolved: dict[int, tuple[Any, Any]] = {}

    def alternatives(self, schema: Any) -> list[Alternative]:
        """What this (sub)schema allows; an empty list: nothing."""
        schema = self.resolve(schema)
        if id(schema) not in self._taken_apart:
            self._taken_apart[id(schema)] = (schema, list(self._alternatives(schema, _DEPTH)))
        return self._taken_apart[id(schema)][1]

    def resolve(self, schema: Any) -> Any:
        """The schema with a local `$ref` at its top replaced by what it names; keywords beside it are kept."""
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        if id(schema) not in self._resolved:
            self._resolved[id(schema)] = (schema, self._follow(schema))
        return self._resolved[id(schema)][1]

    def _follow(self, schema: Any) -> Any:
        for _ in range(_DEPTH):
            if not isinstance(schema, dict) or "$ref" not in schema:
                break
            target = self._look_up(schema["$ref"])
            if target is None:
                break
            beside = {key: value for key, value in schema.items() if key != "$ref" and key not in _REMARKS}
            schema = merged(target, beside) if beside and isinstance(target, dict) else target
        return schema

    def _look_up(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: Any = self.root
        for step in reference[1:].split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return found

    def _alternatives(self, schema: Any, depth: int) -> Iterator[Alternative]:
        schema = self.resolve(schema)
        if schema is False:
            return
        if not isinstance(schema, dict) or not depth:
            yield Alternative(ANY, {})
            return
        if "allOf" in schema:
            schema = self._flattened(schema, depth)
        for union in ("anyOf", "oneOf"):
            if isinstance(schema.get(union), list):
                common = {key: value for key, value in schema.items() if key != union}
                for branch in schema[union]:
                    branch = self.resolve(branch)  # noqa: PLW2901 - the same branch, looked up
                    if isinstance(branch, dict):
                        yield from self._alternatives(merged(branch, common), depth - 1)
                return
        yield from _by_type(schema)

    def _flattened(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        whole = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            resolved = self.resolve(part)
            if isinstance(resolved, dict):
                if "allOf" in resolved and depth:
                    resolved = self._flattened(resolved, depth - 1)
                whole = merged(resolved, whole)
        return whole


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both schemas at once. Where they cannot be made one, the second keeps its words and the first goes to `allOf`."""
    whole = dict(first)
    left: dict[str, Any] = {}
    for key, value in second.items():
        if key not in whole or whole[key] == value:
            whole[key] = value
        elif key == "properties":
            mine = whole[key]
            whole[key] = mine | {
                name: merged(mine[name], rule)
                if isinstance(mine.get(name), dict) and isinstance(rule, dict)
                else rule
                for name, rule in value.items()
            }
        elif key == "required":
            whole[key] = [*whole[key], *(name for name in value if name not in whole[key])]
        elif key in _JOINED:
            whole[key] = _JOINED[key](whole[key], value)
        else:
            left[key] = whole[key]
            whole[key] = value
    left = {key: value for key, value in left.items() if key not in _REMARKS}
    if left:
        whole["allOf"] = [*whole.get("allOf", ()), left]
    return whole


def _common_types(one: Any, other: Any) -> list[str]:
    mine, theirs = ([types] if isinstance(types, str) else list(types) for types in (one, other))
    return [name for name in mine if name in theirs or (name == "integer" and "number" in theirs)]


_JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "allOf": lambda one, other: [*one, *other],
    "$defs": lambda one, other: one | other,
    "type": _common_types,
    "enum": lambda one, other: [value for value in one if value in other],
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def type_of(value: Any) -> str:
    """The JSON type of a value; a number without a fraction is an integer."""
    if isinstance(value, float) and value.is_integer():
        return "integer"
    return _TYPES.get(type(value), ANY)


def allowed_values(schema: dict[str, Any]) -> list[Any] | None:
    """The only values that a schema allows; None: it does not list them."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _by_type(schema: dict[str, Any]) -> Iterator[Alternative]:
    named = schema.get("type")
    types = [named] if isinstance(named, str) else list(named) if isinstance(named, list) else []
    values = allowed_values(schema)
    if values is None:
        for name in types or [_implied(schema)]:
            yield Alternative(name, schema)
        return
    rest = {key: value for key, value in schema.items() if key not in ("const", "enum")}
    for name in dict.fromkeys(type_of(value) for value in values):
        if not types or name in types or (name == "integer" and "number" in types):
            of_type = [value for value in values if type_of(value) == name]
            # Null is one value and a boolean one of two: listing them all is not a restriction.
            every = name == "null" or (name == "boolean" and len(of_type) == 2)
            yield Alternative(name, rest if every else {**rest, "enum": of_type})


def _implied(schema: dict[str, Any]) -> str:
    return next((name for name, keys in _IMPLIED.items() if any(key in schema for key in keys)), ANY)
