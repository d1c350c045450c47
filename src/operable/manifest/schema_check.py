"""A document against the published schema of its kind: complaints in words, at the line of the field.

jsonschema-rs finds what is wrong; the words are ours, because a validator's own quote the value, which may be a secret. The
schemas choose between forms with if/then on a discriminator instead of oneOf, so that a complaint is about one field and
never "matched none of 13 alternatives". Unknown keys get the key that was perhaps meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from operable.kernel.catalogue import nearest
from operable.manifest.kind import Kind
from operable.manifest.part import ManifestPart, Path
from operable.manifest.problem import Level, Problem
from operable.spec import schema, schema_names

_PREFIX = "manifest-"
# More complaints than this about one file do not help, and each costs a walk through the schema.
_MOST = 500
_SHOWN = 40


def complaints(kind: Kind, root: ManifestPart) -> Iterator[Problem]:
    """Everything that the schema objects to, except unknown keys."""
    for error in _errors(kind, root.value):
        if error.kind.name not in ("additionalProperties", "unevaluatedProperties"):
            yield _complaint(error, root)


def unknown_keys(kind: Kind, root: ManifestPart, *, strict: bool) -> Iterator[tuple[ManifestPart, Problem]]:
    """Every key that the schema does not know: an error when strict, else a warning."""
    for error in _errors(kind, root.value):
        if error.kind.name != "additionalProperties":
            continue
        known = _known_keys(error.absolute_keyword_location)
        for key in error.kind.unexpected:
            part = root.at(*error.instance_path, key)
            yield part, _unknown_key(kind, part, key, known, strict=strict)


def _unknown_key(kind: Kind, part: ManifestPart, key: str, known: list[str], *, strict: bool) -> Problem:
    meaning = next(
        (text for pattern, text in kind.extensions.items() if fnmatchcase(part.key, pattern)),
        None,
    )
    if meaning is not None and not strict:
        message = f"{part.key} is an extension of the reference implementation ({meaning})"
        return part.problem("KEY_EXTENSION", message, level="warning")
    near = nearest(key, known, limit=1)
    hint = f"did you mean {near[0]}?" if near else None
    if meaning is not None:
        hint = f"the reference implementation has it ({meaning}); tolerant loading accepts it"
    level: Level = "error" if strict and not kind.open else "warning"
    return part.problem("KEY_UNKNOWN", f"{key[:80]!r} is not a field here", hint, level)


def _errors(kind: Kind, value: Any) -> Iterator[Any]:
    for count, error in enumerate(validator(kind.schema).iter_errors(value)):
        if count == _MOST:
            return
        yield error


def _complaint(error: Any, root: ManifestPart) -> Problem:
    path: Path = tuple(error.instance_path)
    word = error.kind.name
    part = root.at(*path)
    name = part.key or "the frontmatter"
    match word:
        case "required":
            missing = part.at(error.kind.property)
            return missing.problem("FIELD_MISSING", f"{missing.key} is missing", near=part)
        case "type":
            return part.problem(
                "FIELD_TYPE",
                f"{name} must be {_types(error.kind)}, not {_named(part.value)}",
                _quote(part, error),
            )
        case "enum" | "const":
            return _not_among(part, name, error)
        case "pattern" | "format":
            return part.problem("FIELD_FORM", f"{name} is not of the form {_form(error.kind)}{_given(part)}")
        case "uniqueItems":
            return part.problem("FIELD_REPEATED", f"{name} repeats a value")
        case "propertyNames":
            return part.problem("FIELD_FORM", f"a key of {name} is not of the form that it needs")
        case (
            "minimum"
            | "maximum"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "minProperties"
            | "maxProperties"
        ):
            return part.problem(
                "FIELD_RANGE", f"{name} {_RANGES[word]} {error.kind.limit}{_UNITS.get(word, '')}"
            )
    return part.problem("FIELD_INVALID", f"{name} is not valid ({word})")


_RANGES = {
    "minimum": "must be at least",
    "maximum": "must be at most",
    "minLength": "must have at least",
    "maxLength": "must have at most",
    "minItems": "must have at least",
    "maxItems": "must have at most",
    "minProperties": "must have at least",
    "maxProperties": "must have at most",
}
_UNITS = {
    "minLength": " characters",
    "maxLength": " characters",
    "minItems": " items",
    "maxItems": " items",
    "minProperties": " fields",
    "maxProperties": " fields",
}
_WORDS = {
    "string": "a text",
    "object": "a mapping",
    "array": "a list",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


def _types(found: Any) -> str:
    return " or ".join(_WORDS.get(word, word) for word in found.types)


def _named(value: Any) -> str:
    if value is None:
        return "empty"
    for kind, word in (
        (bool, "true or false"),
        (str, "a text"),
        (int, "a number"),
        (float, "a number"),
        (list, "a list"),
    ):
        if isinstance(value, kind):
            return word
    return "a mapping"


def _quote(part: ManifestPart, error: Any) -> str | None:
    scalar = isinstance(part.value, bool | int | float)
    return "put it in quotes" if scalar and "string" in error.kind.types else None


def _not_among(part: ManifestPart, name: str, error: Any) -> Problem:
    found = error.kind
    known = [str(option) for option in (found.options if found.name == "enum" else [found.expected_value])]
    near = nearest(part.value, known, limit=1) if isinstance(part.value, str) else []
    hint = f"did you mean {near[0]}?" if near else None
    return part.problem("FIELD_VALUE", f"{name} must be one of {', '.join(known)}{_given(part)}", hint)


def _form(found: Any) -> str:
    return f"`{found.pattern}`" if found.name == "pattern" else f"of a {found.format}"


def _given(part: ManifestPart) -> str:
    """The value, when it is short and cannot be a secret."""
    from operable.kernel.redact import redact_text

    if not isinstance(part.value, str) or len(part.value) > _SHOWN:
        return ""
    shown = redact_text(f"{part.path[-1] if part.path else ''}={part.value}")
    return f", not {part.value!r}" if shown.endswith(f"={part.value}") else ""


@cache
def validator(name: str) -> Any:
    """The compiled validator of a published schema; its references lead to the other manifest schemas only."""
    import jsonschema_rs

    registry = jsonschema_rs.Registry(list(_published().items()))
    return jsonschema_rs.validator_for(schema(name), registry=registry, validate_formats=True)


@cache
def _published() -> dict[str, Any]:
    """The manifest schemas by their identifiers."""
    documents = [schema(name) for name in schema_names() if name.startswith(_PREFIX)]
    return {document["$id"]: document for document in documents}


def _known_keys(location: str) -> list[str]:
    """The properties beside an `additionalProperties`, given where that is: `urn:…#/$defs/mode/additionalProperties`."""
    identifier, _, pointer = location.partition("#")
    place: Any = _published()[identifier]
    for step in pointer.split("/")[1:-1]:
        place = place[int(step)] if isinstance(place, list) else place[step]
    return sorted(place.get("properties", {}))
