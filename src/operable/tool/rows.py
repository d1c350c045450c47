"""Events as plain dictionaries, typed with `TypedDict`: the way to write a tool that emits hundreds of thousands.

A dict display costs a fifth of making an object, and `msgspec` turns it into a line in C. So a command may promise
`Iterator[Match]` of a `TypedDict` class and yield dictionaries; schema, capabilities and human output come from it as
they do from an `Event` class. The price is `import typing` at start-up, which a bulk producer does not notice.

Dictionaries of a declared type are encoded by msgspec once a stream is long (`BULK` events). Until then, for types that
were not declared or have fields with fractions or anything in them, and where msgspec is not installed, the encoder is
CPython's own in C.
"""

from __future__ import annotations

from operable.tool.json_text import fast_encoder, utf8
from operable.tool.records import Event, field_kinds, snake_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from operable.tool.declare import Command
    from operable.tool.kinds import Kind
    from operable.tool.outflow import Outflow

    Encoder = Callable[[Any], bytes]

# Loading msgspec costs as much as it saves on some ten thousand events; a stream this long is likely to get there.
BULK = 2048
_EXACT = ("string", "integer", "boolean", "choice")

_made: dict[type[Any], type[Event]] = {}


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


def faster(outflow: Outflow, command: Command) -> Encoder:
    """The encoder for dictionaries once there are some; when there are many, it gives the stream something better."""
    from operable.tool.outflow import check_type

    text = fast_encoder()[1]
    count = 0

    def encode(event: Any) -> bytes:
        nonlocal count
        count += 1
        if count == BULK:
            outflow.bulk = bulk(command.event_classes())
        check_type(event)
        return utf8(text(event))

    return encode


class Bulk:
    """How the dictionaries of a long stream are encoded: `encode` for the types in `exact`, unless it raises `doubts`."""

    # No type, no dictionary, a number beyond 64 bits, a lone surrogate: the strict encoder knows what to do or say.
    doubts = (KeyError, TypeError, ValueError, OverflowError)

    def __init__(self, encode: Encoder, exact: frozenset[str]) -> None:
        self.encode = encode
        self.exact = exact


def bulk(events: Iterable[type[Event]]) -> Bulk | None:
    """None when there is nothing to gain."""
    try:
        import msgspec
    except ImportError:
        return None
    rows = set(_made.values())
    exact = [event for event in events if event in rows and all(map(_is_exact, field_kinds(event).values()))]
    if not exact:
        return None
    return Bulk(msgspec.json.Encoder().encode, frozenset(event.wire_type for event in exact))


def _is_exact(kind: Kind) -> bool:
    """Whether msgspec writes every value of this kind as the strict encoder does; it makes null of a NaN, for example."""
    return kind.base in _EXACT or (kind.base == "array" and kind.item is not None and _is_exact(kind.item))


def _wire_type(row: Any) -> str:
    kind = row.__annotations__.get("type")
    text = getattr(kind, "__forward_arg__", None) or str(kind)
    if "Literal[" in text:
        return str(text.partition("[")[2].strip("]'\" "))
    return snake_case(row.__name__)
