"""From declarations to JSON Schema 2020-12: events (permissive) and inputs (strict), only with dictionaries.

Event schemas are selected by `type` with if/then, so that a validator's complaint names the field that is wrong
instead of "matched none of 12 alternatives" (AOI section 10.4). Nested records are written out where they are; only
a record that contains itself becomes a definition of its own.
"""

from __future__ import annotations

from operable.spec.framework_events import FRAMEWORK_EVENTS
from operable.tool.annotations import field_kinds
from operable.tool.kinds import REQUIRED
from operable.tool.records import Event, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from operable.tool.declaration import Declaration
    from operable.tool.kinds import ValueKind
    from operable.tool.signature import Command


DRAFT = "https://json-schema.org/draft/2020-12/schema"


def event_schema(tool: Declaration, version: str, events: Iterable[type[Event]]) -> dict[str, Any]:
    """The schema of one line of the stream."""
    definitions: dict[str, Any] = dict(FRAMEWORK_EVENTS)
    events = list(events)
    records = _Records(definitions, strict=False)
    for event in events:
        records.claim(event)
        if f"aoi:{event.wire_type}" in FRAMEWORK_EVENTS or event.wire_type.startswith("aoi:"):
            from operable.wire.reserved_names import check_domain_types

            check_domain_types([event.wire_type])
    for event in events:
        definitions[event.wire_type] = records.schema(event, whole=True)
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
            for name in [*FRAMEWORK_EVENTS, *(event.wire_type for event in events)]
        ],
        "$defs": definitions,
    }


def all_events(tool: Declaration) -> list[type[Event]]:
    """Every domain event that some command promises, each once, in order of first mention; two of a name are refused."""
    found: dict[str, type[Event]] = {DiscoveryDocument.wire_type: DiscoveryDocument}
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


def input_schema(tool: Declaration, command: Command, *, items: bool = False) -> dict[str, Any]:
    """What a command takes: its arguments as one object; with `items`, one line of its structured input."""
    identity = tool.schema_id.format(version=tool.schema_version)
    part = f"input-{command.name.replace(' ', '-')}{'-item' if items else ''}"
    head = {"$schema": DRAFT, "$id": f"{identity}{':' if identity.startswith('urn:') else '/'}{part}"}
    model = command.stream_model()
    definitions: dict[str, Any] = {}
    if items and model is not None:
        schema = _Records(definitions, strict=True).schema(model)
        # An upstream event carries its type; the reader has used it to select the items.
        properties = {"type": {"type": "string"}} | schema["properties"]
        schema = {
            "title": f"One item of the input of {tool.name} {command.name}",
            **schema,
            "properties": properties,
        }
    else:
        schema = {
            "title": f"Arguments of {tool.name} {command.name}",
            "type": "object",
            "properties": _own_properties(command) | _standard_properties(tool, command),
            "required": [param.flag for param in command.params if param.required],
            "additionalProperties": False,
            **_groups(command),
        }
    return head | schema | ({"$defs": definitions} if definitions else {})


def _own_properties(command: Command) -> dict[str, Any]:
    from operable.tool.discovery.help_text import parameter_help

    texts = parameter_help(command)
    properties: dict[str, Any] = {}
    for param in command.params:
        schema = _Records({}, strict=True).value(param.kind)
        if param.many:
            schema = {"type": "array", "items": schema} | ({"minItems": 1} if param.required else {})
            if param.must is not None:
                schema |= param.must.schema("array", lengthy=False)
        if texts.get(param.name):
            schema["description"] = texts[param.name]
        if param.secret:
            schema["writeOnly"] = True
        elif param.default is not None:
            schema["default"] = json_value(param.default)
        if param.counted:
            schema["minimum"] = 0
        if param.arg is not None and param.arg.env:
            schema["x-env"] = param.arg.env
        schema["x-cli"] = param.flag.upper() if param.operand else f"--{param.flag}"
        properties[param.flag] = schema
    return properties


def json_value(value: Any) -> Any:
    """A default as it is in JSON."""
    from operable.kernel.json import parse
    from operable.tool.records import json_text

    return value if isinstance(value, str | int | float) else parse(json_text(value))


def _groups(command: Command) -> dict[str, Any]:
    """Which parameters exclude each other."""
    flags = {param.name: param.flag for param in command.params}
    rules: list[dict[str, Any]] = []
    for group in (*command.exclusive, *command.one_of):
        names = [flags[name] for name in group]
        pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
        rules += [{"not": {"required": list(pair)}} for pair in pairs]
        if group in command.one_of:
            rules.append({"anyOf": [{"required": [name]} for name in names]})
    return {"allOf": rules} if rules else {}


def _standard_properties(tool: Declaration, command: Command) -> dict[str, Any]:
    from operable.tool.arguments import standard_options

    properties = {}
    for name in standard_options(tool, command):
        if name != "help" and name not in tool.machine_flags:
            properties[name] = _STANDARD_SCHEMAS[name] | {"x-cli": f"--{name}"}
    for name, default in (("limit", command.limit), ("timeout", command.timeout)):
        if name in properties and default is not None:
            properties[name]["default"] = default
    return properties


_TEXT = {"type": "string", "minLength": 1}
_NUMBER = {"type": "integer", "minimum": 1}
_SWITCH: dict[str, Any] = {"type": "boolean"}
_FIELDS = "^[^.,]+([.,][^.,]+)*$"
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
    # What cuts results, which then lack what the schema of the events requires, is marked: callers ask for it knowingly.
    "fields": {"type": "string", "pattern": _FIELDS, "x-reduces": True},
    "compact": _SWITCH | {"x-reduces": True},
    "dry-run": _SWITCH,
    "confirm": {"type": ["boolean", "string"]},
    "confirm-count": {"type": "integer", "minimum": 0},
    "idempotency-key": _TEXT,
    "input-json": _TEXT,
    "input-jsonl": _TEXT,
    "continue-on-error": _SWITCH,
    "fail-fast": _SWITCH,
}


class _Records:
    """Writes the schemas of records into one document. Those that contain themselves, and events, are definitions."""

    def __init__(self, definitions: dict[str, Any], *, strict: bool) -> None:
        self._definitions = definitions
        self._strict = strict
        self._open: list[type[Record]] = []
        self._owners: dict[str, type[Record]] = {}

    def claim(self, model: type[Record]) -> str:
        """The name of the definition of this record, from now on its own."""
        name = _definition_name(model)
        if self._owners.setdefault(name, model) is not model:
            msg = f"two different things are called {name!r} in the schema: rename one of them"
            raise TypeError(msg)
        return name

    def schema(self, model: type[Record], *, whole: bool = False) -> dict[str, Any]:
        """The schema of a record, or a reference to its definition unless the whole is asked for."""
        name = _definition_name(model)
        if not whole and (model in self._open or self._owners.get(name) is model):
            return {"$ref": f"#/$defs/{self.claim(model)}"}
        self._open.append(model)
        schema: dict[str, Any] = {"type": "object"}
        if "__doc__" in model.__dict__ and model.__doc__:
            schema["description"] = " ".join(model.__doc__.split())
        names = model.__wire_names__
        schema["properties"] = {names[field]: self.value(kind) for field, kind in field_kinds(model).items()}
        schema["required"] = [names[f] for f, default in model.__fields__.items() if default is REQUIRED]
        if model._typed:  # noqa: SLF001 - the two modules are one thing in two files
            schema["properties"] = {"type": {"const": model.wire_type}} | schema["properties"]
            schema["required"].insert(0, "type")
        if self._strict:
            schema["additionalProperties"] = False
        self._open.pop()
        if self._owners.get(name) is model:  # somewhere inside, a reference to it was needed
            self._definitions[name] = schema
        return schema

    def value(self, kind: ValueKind) -> dict[str, Any]:
        """The schema of one value."""
        if kind.base == "any":
            return {}
        schema = self._not_null(kind)
        if not kind.nullable or kind.base == "null":
            return schema
        if "enum" in schema:
            return {"enum": [*schema["enum"], None]}
        if isinstance(schema.get("type"), str):
            return schema | {"type": [schema["type"], "null"]}
        return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}

    def _not_null(self, kind: ValueKind) -> dict[str, Any]:
        if kind.base == "record" and kind.model is not None:
            return self.schema(kind.model)
        if kind.base == "choice":
            return {"enum": list(kind.choices)}
        if kind.base == "union":
            return {"anyOf": [self.value(option) for option in kind.options]}
        schema: dict[str, Any] = {"type": kind.base} if kind.form is None else dict(kind.form.schema)
        if kind.item is not None and kind.item.base != "any":
            schema["items" if kind.base == "array" else "additionalProperties"] = self.value(kind.item)
        if kind.must is not None:
            lengthy = kind.form is None or "contentEncoding" in kind.form.schema
            schema |= kind.must.schema(kind.base, lengthy=lengthy)
        return schema


def _definition_name(model: type[Record]) -> str:
    return model.wire_type if model._typed else model.__name__  # noqa: SLF001 - as above


class DiscoveryDocument(Event, type="discovery_document"):
    """A whole document as one event: what discovery commands answer with in a stream. The plain name is left to authors."""

    name: str
    content: Any
