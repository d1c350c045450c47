"""Events that an author types as `TypedDict`: an `Event` class for each, for everything that describes events.

`operable.tool.emit.rows` says why an author would, and encodes the dictionaries.
"""

from __future__ import annotations

from operable.tool.declare.records import Event, snake_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_made: dict[type[Any], type[Event]] = {}


def made_events() -> Iterable[type[Event]]:
    """The classes that stand for a `TypedDict`."""
    return _made.values()


def event_of(row: Any) -> type[Event]:
    """An Event class with the fields of a TypedDict, for everything that describes events."""
    if row not in _made:
        annotations = {name: kind for name, kind in row.__annotations__.items() if name != "type"}
        # Any default but None, which would promise nulls; no instance is ever made.
        body: dict[str, Any] = {name: ... for name in annotations if name not in row.__required_keys__}
        body |= {"__annotations__": annotations, "__module__": row.__module__, "__doc__": row.__doc__}
        record_type: Any = type(Event)
        _made[row] = record_type(row.__name__, (Event,), body, type=_wire_type(row))
    return _made[row]


def _wire_type(row: Any) -> str:
    kind = row.__annotations__.get("type")
    text = getattr(kind, "__forward_arg__", None) or str(kind)
    if "Literal[" in text:
        return str(text.partition("[")[2].strip("]'\" "))
    return snake_case(row.__name__)
