"""The names of the framework events, and the rule that no domain schema may define them (AOI-CLI section 8.2).

On the wire the rule has no teeth, on purpose: section 8.2 itself shows a domain event `{"type": "summary"}` beside the
framework's `aoi:summary`, and a reader that met one could not distinguish it from any other unknown type. So a stream
may carry such an event (`operable.wire.notes` remarks on it); a schema or a list of types that defines one is refused here.

Imports only the error taxonomy: the SDK checks its authors' types with it before the first event.
"""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

PREFIX = "aoi:"
RESERVED = frozenset({"meta", "summary", "warning", "error", "heartbeat", "plan", "check", "progress"})

_IN_PLACE = ("allOf", "anyOf", "oneOf", "if", "then", "else")
"""Keywords whose schemas apply to the event itself. `not` is left out: it says what an event is not."""


def check_domain_types(names: Iterable[str]) -> None:
    """Refuse names that a domain may not give to its events: framework names, with or without their prefix."""
    taken = sorted({name for name in names if name in RESERVED or name.startswith(PREFIX)})
    if taken:
        raise Fail(
            "validation",
            "RESERVED_EVENT_TYPE",
            f"Framework names cannot be domain event types: {', '.join(taken)}.",
            hint=f"Choose other names; only the framework defines {PREFIX}* events and their unprefixed names.",
            event_types=taken,
        )


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a JSON Schema that defines an event under an unprefixed framework name.

    The framework's own `aoi:` events may be described in it; tools publish one schema for the whole stream.
    """
    framework = {PREFIX + name for name in RESERVED}
    check_domain_types(name for name in event_types(schema) if name not in framework)


def event_types(schema: Mapping[str, Any]) -> set[str]:
    """The event types that a JSON Schema distinguishes.

    Found where section 10.4 puts them: as `const` or `enum` of the property `type`, in the schema itself and in whatever it
    applies to the event by combination, condition or local reference. Definitions count only when they are reached that
    way, because others may describe nested objects; a schema that contains only definitions is a list of events.
    """
    found: set[str] = set()
    seen: set[int] = set()
    todo: list[Any] = [schema]
    if not any(keyword in schema for keyword in ("properties", "$ref", *_IN_PLACE)):
        for definitions in _definitions(schema):
            found.update(name for name, part in definitions.items() if not _own_types(part))
            todo += definitions.values()
    while todo:
        part = todo.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        found.update(_own_types(part))
        todo += _applied(part, schema)
    return found


def _definitions(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for keyword in ("$defs", "definitions"):
        definitions = schema.get(keyword)
        if isinstance(definitions, dict):
            yield definitions


def _own_types(part: Any) -> set[str]:
    """What this one schema says of the property `type`, if it says it with constants."""
    properties = part.get("properties") if isinstance(part, dict) else None
    rule = properties.get("type") if isinstance(properties, dict) else None
    if not isinstance(rule, dict):
        return set()
    values = [rule.get("const")]
    if isinstance(rule.get("enum"), list):
        values += rule["enum"]
    return {value for value in values if isinstance(value, str)}


def _applied(part: dict[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that apply to the same event as this one."""
    for keyword in _IN_PLACE:
        value = part.get(keyword)
        if isinstance(value, list):
            yield from value
        else:
            yield value
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        yield _resolve(reference, root)


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """Follow a local JSON pointer; nothing if its target is missing, which a validator reports."""
    place: Any = root
    for step in reference.removeprefix("#/").split("/"):
        if not isinstance(place, dict):
            return None
        place = place.get(step.replace("%25", "%").replace("~1", "/").replace("~0", "~"))
    return place
