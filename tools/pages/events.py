"""docs/reference/events.md: the framework events and the recommended domain shapes, from the published JSON Schema."""

from typing import Any

from operable.spec import schema
from tools.markdown import code, table

PATH = "docs/reference/events.md"


def render() -> str:
    published = schema("aoi-events")
    definitions = published["$defs"]
    framework = [name for name in definitions if name.startswith("aoi:")]
    shapes = [name for name in ("entry", "hit", "match") if name in definitions]
    lines = [
        "# Events",
        "",
        "Generated from `src/operable/spec/schemas/aoi-events.schema.json` by `./dev fix`.",
        "",
        "One line of a stream is one event: a JSON object with a `type`. A type with the prefix `aoi:` belongs to the",
        "framework; any other belongs to the tool. Unknown fields are allowed in every event and kept by readers.",
        "",
        f'The schema is published as `{published["$id"]}`: `operable.spec.schema("aoi-events")`.',
    ]
    for title, names in (("Framework events", framework), ("Recommended shapes of domain events", shapes)):
        lines += ["", f"## {title}"]
        for name in names:
            lines += ["", *_event(name, definitions)]
    return "\n".join(lines) + "\n"


def _event(name: str, definitions: dict[str, Any]) -> list[str]:
    definition = definitions[name]
    required = definition.get("required", [])
    rows = [
        (
            code(field) + (" (required)" if field in required else ""),
            type_of(part, definitions),
            _meaning(field, part, definitions),
        )
        for field, part in definition["properties"].items()
        if field != "type"
    ]
    head = [f"### {name}", "", definition["description"]]
    return [*head, "", *table(("field", "type", "meaning"), rows)] if rows else head


def _meaning(field: str, part: dict[str, Any], definitions: dict[str, Any]) -> str:
    text = str(resolved(part, definitions).get("description", ""))
    return text or field.replace("_", " ").capitalize() + "."


def resolved(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref")
    return definitions[reference.removeprefix("#/$defs/")] if reference else part


def type_of(part: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A JSON Schema type in words."""
    part = resolved(part, definitions)
    if "enum" in part:
        return ", ".join(code(str(value)) for value in part["enum"])
    kind = part.get("type", "any")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array" and "items" in part:
        return f"array of {type_of(part['items'], definitions)}"
    return words
