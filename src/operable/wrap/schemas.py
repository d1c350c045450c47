"""From the JSON Schemas of a TOOL.md to what the SDK knows: parameters of a command, classes of events.

Of JSON Schema this understands what a command line and a line of output can say: scalars, enums, lists, nulls, nested
objects, defaults, bounds. The schema in the manifest stays the whole truth about values; `check` holds inputs to its bounds.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.kinds import ValueKind
from operable.tool.signature import Param

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from operable.tool.records import Event

# An input with this format is a path: it may also be given as base64, because a path need not be UTF-8.
PATH = "path"
B64 = "_b64"
_SCALARS = {"string": str, "integer": int, "number": float, "boolean": bool}


def params(
    schema: Mapping[str, Any], *, operands: Sequence[str] = (), secrets: Sequence[str] = ()
) -> Iterator[Param]:
    """The parameters of a command with inputs of this schema, operands first."""
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    for name in (*operands, *(name for name in properties if name not in operands)):
        described, operand = properties[name], name in operands
        kind = _kind(described)
        many = operand and kind.base == "array"
        path = _is_path(described)
        yield Param(
            name.replace("-", "_"),
            kind.item if many and kind.item else kind,
            operand=operand,
            default=described.get("default"),
            required=name in required and not path,
            many=many,
            secret=name in secrets,
        )
        if path:
            yield Param(
                name.replace("-", "_") + B64,
                ValueKind("array", item=ValueKind("string")) if kind.base == "array" else ValueKind("string"),
            )


def _is_path(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("format") == PATH or schema.get("items", {}).get("format") == PATH)


def _kind(schema: Mapping[str, Any]) -> ValueKind:
    if "enum" in schema:
        choices = tuple(value for value in schema["enum"] if value is not None)
        return ValueKind("choice", choices=choices, nullable=len(choices) < len(schema["enum"]))
    names = schema.get("type", "string")
    kinds = [name for name in ([names] if isinstance(names, str) else names) if name != "null"]
    base = kinds[0] if len(kinds) == 1 else "any"
    if base == "array":
        return ValueKind("array", item=_kind(schema.get("items", {})))
    return ValueKind(base, nullable=kinds != ([names] if isinstance(names, str) else names))


def inputs(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a call by the names of the inputs, paths as text with surrogates for what is not UTF-8."""
    found: dict[str, Any] = {}
    required = schema.get("required", ())
    for name, described in schema.get("properties", {}).items():
        word = name.replace("-", "_")
        value = values.get(word)
        if _is_path(described) and values.get(word + B64) is not None:
            # A placeholder for a missing value must not appear beside a given one.
            given = None if value == described.get("default") else value
            value = _decoded(name, values[word + B64], given)
        if value is None and name in required:
            raise Fail(
                "usage",
                "MISSING_OPERAND",
                f"{name} is missing",
                target=name,
                hint=f"give {name.upper()}, or --{name}-b64",
            )
        if value is not None:
            for one in value if isinstance(value, list) else [value]:
                _check(name, described.get("items", described), one)
        found[name] = value
    return found


def _decoded(name: str, given: Any, value: Any) -> Any:
    from binascii import Error, a2b_base64

    try:
        words = [
            a2b_base64(word, strict_mode=True).decode("utf-8", "surrogateescape")
            for word in (given if isinstance(given, list) else [given])
        ]
    except (Error, ValueError) as problem:
        raise Fail(
            "usage", "INVALID_VALUE", f"--{name}-b64 is not base64", target=f"--{name}-b64"
        ) from problem
    if any("\0" in word for word in words):
        raise Fail(
            "usage",
            "INVALID_VALUE",
            f"--{name}-b64 contains a null byte, which no path can have",
            target=f"--{name}-b64",
        )
    if isinstance(given, list):
        return [*(value or []), *words]
    return words[0]


def _check(name: str, schema: Mapping[str, Any], value: Any) -> None:
    """Hold one value to the bounds that the schema sets."""
    wrong = None
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            wrong = f"must have at least {schema['minLength']} characters"
        elif len(value) > schema.get("maxLength", len(value)):
            wrong = f"must have at most {schema['maxLength']} characters"
        elif "pattern" in schema:
            import re

            if not re.search(schema["pattern"], value):
                wrong = f"must match {schema['pattern']}"
    elif not isinstance(value, bool) and isinstance(value, int | float):
        if value < schema.get("minimum", value):
            wrong = f"must be at least {schema['minimum']}"
        elif value > schema.get("maximum", value):
            wrong = f"must be at most {schema['maximum']}"
    if wrong is not None:
        raise Fail("validation", "INVALID_VALUE", f"{name} {wrong}", target=name)


# -- events


def event_class(schema: Mapping[str, Any], made: dict[str, tuple[Any, type[Event]]]) -> type[Event]:
    """The class that describes an event; one and the same for equal schemas of one tool (`made`)."""
    from operable.tool.rows import event_of

    kind = schema["properties"]["type"]["const"]
    if kind in made and made[kind][0] == schema:
        return made[kind][1]
    row = type(_class_name(kind), (), {})
    row.__doc__ = schema.get("description", "")
    row.__annotations__ = {"type": f"Literal[{kind!r}]", **_annotations(schema)}
    row.__required_keys__ = frozenset(schema.get("required", ()))  # type: ignore[attr-defined]
    found = event_of(row)
    made[kind] = (schema, found)
    return found


def _annotations(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _annotation(name, inner)
        for name, inner in schema.get("properties", {}).items()
        if name != "type" and name.isidentifier()  # other names are permitted in events, and not described
    }


def _annotation(name: str, schema: Mapping[str, Any]) -> Any:
    names = schema.get("type", "any")
    kinds = [names] if isinstance(names, str) else list(names)
    nullable = "null" in kinds
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    kinds = [kind for kind in kinds if kind != "null"]
    base = kinds[0] if len(kinds) == 1 else "any"
    found: Any
    if base == "array":
        found = list[_annotation(name, schema.get("items", {}))]  # type: ignore[misc]
    elif base == "object" and "properties" in schema:
        found = _record(name, schema)
    elif base == "object":
        found = dict
    else:
        found = _SCALARS.get(base, object)
    return found | None if nullable and found is not object else found


def _record(name: str, schema: Mapping[str, Any]) -> Any:
    from operable.tool.records import Record

    required = schema.get("required", ())
    annotations = {
        field: _annotation(field, inner)
        for field, inner in schema["properties"].items()
        if field.isidentifier()
    }
    body: dict[str, Any] = {field: ... for field in annotations if field not in required}
    body |= {"__annotations__": annotations, "__module__": __name__}
    record_type: Any = type(Record)
    return record_type(_class_name(name), (Record,), body)


def _class_name(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.replace("-", "_").replace(".", "_").split("_")) or "Row"
