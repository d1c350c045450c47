"""From declarations to JSON Schema 2020-12: events (permissive) and inputs (strict), with nothing but dictionaries.

Event schemas are selected by `type` with if/then, so that a validator's complaint names the field that is wrong
instead of "matched none of 12 alternatives" (AOI section 10.4).
"""

from __future__ import annotations

from operable.spec.framework_events import FRAMEWORK_EVENTS
from operable.tool.records import REQUIRED, Event, Record, field_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from operable.tool.declare import Command, Tool
    from operable.tool.kinds import Kind

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def event_schema(tool: Tool, version: str, events: Iterable[type[Event]]) -> dict[str, Any]:
    """The schema of one line of the stream."""
    definitions: dict[str, Any] = dict(FRAMEWORK_EVENTS)
    for event in events:
        definitions[event.wire_type] = _record_schema(event, strict=False)
        if f"aoi:{event.wire_type}" in FRAMEWORK_EVENTS or event.wire_type.startswith("aoi:"):
            from operable.wire.reserved import check_domain_types

            check_domain_types([event.wire_type])
    return {
        "$schema": DRAFT,
        "$id": tool.schema_id.format(version=version),
        "title": tool.schema_name,
        "description": f"One line of the machine-mode output of {tool.name}.",
        "version": version,
        "type": "object",
        "properties": {"type": {"type": "string", "minLength": 1}},
        "required": ["type"],
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for name in definitions
        ],
        "$defs": definitions,
    }


def all_events(tool: Tool) -> list[type[Event]]:
    """Every domain event that some command promises, each once, in order of first mention."""
    from operable.tool.discovery import Document

    found: dict[str, type[Event]] = {Document.wire_type: Document}
    for name in tool.names():
        command = tool.find(name)
        for event in command.event_classes() if command else ():
            known = found.setdefault(event.wire_type, event)
            if known is not event:
                msg = (
                    f"two event classes are called {event.wire_type!r}: {known.__name__} and {event.__name__}"
                )
                raise TypeError(msg)
    return list(found.values())


def input_schema(tool: Tool, command: Command, *, items: bool = False) -> dict[str, Any]:
    """What a command takes: its arguments as one object; with `items`, one line of its structured input."""
    suffix = f"{command.name.replace(' ', '-')}{'-item' if items else ''}"
    head = {"$schema": DRAFT, "$id": f"{tool.schema_id.format(version=tool.schema_version)}#input-{suffix}"}
    head["$id"] = head["$id"].replace("#", ":" if head["$id"].startswith("urn:") else "/")
    model = command.stream_model()
    if items and model is not None:
        return (
            head
            | {"title": f"One item of the input of {tool.name} {command.name}"}
            | _record_schema(model, strict=True)
        )
    from operable.tool.help_text import parameter_help

    texts = parameter_help(command)
    properties: dict[str, Any] = {}
    for param in command.params:
        schema = kind_schema(param.kind, strict=True)
        if param.many:
            schema = {"type": "array", "items": schema}
        if texts.get(param.name):
            schema["description"] = texts[param.name]
        if param.default is not None:
            schema["default"] = (
                param.default if not hasattr(param.default, "__fspath__") else str(param.default)
            )
        if param.secret:
            schema["writeOnly"] = True
        schema["x-cli"] = param.flag.upper() if param.operand else f"--{param.flag}"
        properties[param.flag] = schema
    from operable.tool.arguments import standard_options

    for name in standard_options(tool, command):
        if name not in ("help", "output", "format"):
            properties[name] = _STANDARD_SCHEMAS[name] | {"x-cli": f"--{name}"}
    return head | {
        "title": f"Arguments of {tool.name} {command.name}",
        "type": "object",
        "properties": properties,
        "required": [param.flag for param in command.params if param.required],
        "additionalProperties": False,
    }


_TEXT = {"type": "string", "minLength": 1}
_NUMBER = {"type": "integer", "minimum": 1}
_SWITCH = {"type": "boolean"}
_STANDARD_SCHEMAS: dict[str, dict[str, Any]] = {
    "schema-version": _TEXT,
    "accept-schema": {"type": "string", "pattern": "^.+@[0-9.]+$"},
    "timeout": {"type": "number", "exclusiveMinimum": 0},
    "no-color": _SWITCH,
    "debug": _SWITCH,
    "limit": _NUMBER,
    "cursor": _TEXT,
    "max-bytes": _NUMBER,
    "max-lines": _NUMBER,
    "dry-run": _SWITCH,
    "confirm": {"type": ["boolean", "string"]},
    "confirm-count": {"type": "integer", "minimum": 0},
    "idempotency-key": _TEXT,
    "input-json": _TEXT,
    "input-jsonl": _TEXT,
    "continue-on-error": _SWITCH,
    "fail-fast": _SWITCH,
}


def _record_schema(model: type[Record], *, strict: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    if model.__doc__:
        schema["description"] = " ".join(model.__doc__.split())
    properties = {name: kind_schema(kind, strict=strict) for name, kind in field_kinds(model).items()}
    required = [name for name, default in model.__fields__.items() if default is REQUIRED]
    if issubclass(model, Event):
        properties = {"type": {"const": model.wire_type}} | properties
        required = ["type", *required]
    elif strict:
        # An upstream event carries its type; the reader has used it to select the items.
        properties = {"type": {"type": "string"}} | properties
    schema["properties"] = properties
    schema["required"] = required
    if strict:
        schema["additionalProperties"] = False
    return schema


def kind_schema(kind: Kind, *, strict: bool) -> dict[str, Any]:
    """The schema of one value."""
    schema: dict[str, Any] = {}
    if kind.base in ("string", "integer", "number", "boolean", "object"):
        schema["type"] = [kind.base, "null"] if kind.nullable else kind.base
        return schema
    if kind.base == "array":
        schema["type"] = ["array", "null"] if kind.nullable else "array"
        if kind.item is not None and kind.item.base != "any":
            schema["items"] = kind_schema(kind.item, strict=strict)
        return schema
    if kind.base == "choice":
        schema["enum"] = [*kind.choices, None] if kind.nullable else list(kind.choices)
        return schema
    if kind.base == "record" and kind.model is not None:
        schema = _record_schema(kind.model, strict=strict)
        if kind.nullable:
            schema["type"] = ["object", "null"]
        return schema
    if kind.base == "union":
        options = [kind_schema(option, strict=strict) for option in kind.options]
        schema["anyOf"] = [*options, {"type": "null"}] if kind.nullable else options
    return schema
