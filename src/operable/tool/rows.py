"""Events as plain dictionaries, typed with `TypedDict`: the way to write a tool that emits hundreds of thousands.

A dict display costs a fifth of making an object, and `msgspec` turns it into a line in C. So a command may promise
`Iterator[Match]` of a `TypedDict` class and yield dictionaries; schema, capabilities and human output come from it as
they do from an `Event` class. The price is `import typing` at start-up, which a bulk producer does not notice.

The fastest way of all is to yield them in lists of some hundred (`Iterator[list[Match]]`): a list becomes lines in one call.

Dictionaries of a declared type are encoded by msgspec when they come in lists, or once a stream is long (`BULK` events).
Until then, for types that were not declared or have fields with fractions or anything in them, and where msgspec is not
installed, the encoder is CPython's own in C.
"""

from operable.tool.annotations import field_kinds
from operable.tool.encoders import fast_encoder
from operable.tool.records import Event, check_type, snake_case, utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from operable.tool.kinds import ValueKind

    Encoder = Callable[[Any], bytes]


# Loading msgspec costs as much as it saves on some ten thousand events; a stream this long is likely to get there.
BULK = 2048
_EXACT = ("string", "integer", "boolean", "choice")
# What msgspec raises for a value that is not what was declared: no type, no dictionary, a number beyond 64 bits, a lone
# surrogate. The strict encoder knows what to do with it, or says what is wrong.
_DOUBTS = (KeyError, TypeError, ValueError, OverflowError)


def faster(
    encoders: "dict[type, Callable[[Any], Any]]", events: "Callable[[], Iterable[type[Event]]]"
) -> "Encoder":
    """The encoder for dictionaries once there are some; when there are many, it makes room for one by msgspec."""
    count = 0

    def encode(event: "Any") -> bytes:
        nonlocal count
        count += 1
        if count == BULK:
            encoders[dict] = _row_encoder(events())
        return _strict(event)

    return encode


def batch_encoder(
    events: "Iterable[type[Event]]", one_by_one: "Callable[[Any], Any]"
) -> "Callable[[list[Any]], tuple[bytes, int]]":
    """Whole lists as lines (the last without its newline) and their number.

    `one_by_one` is asked for lists that contain anything out of the ordinary.
    """
    exact = _exact_types(events)

    def cautious(rows: "list[Any]") -> "tuple[bytes, int]":
        lines = [line for line in map(one_by_one, rows) if line is not None]
        return b"\n".join(lines), len(lines)

    if not exact:
        return cautious
    from operator import itemgetter

    from msgspec.json import Encoder as MsgspecEncoder

    encode_lines, type_of = MsgspecEncoder().encode_lines, itemgetter("type")

    def encode(rows: "list[Any]") -> "tuple[bytes, int]":
        try:
            if exact.issuperset(map(type_of, rows)):
                return encode_lines(rows)[:-1], len(rows)
        except _DOUBTS:
            pass  # one of them is not what was declared
        return cautious(rows)

    return encode


def _row_encoder(events: "Iterable[type[Event]]") -> "Encoder":
    exact = _exact_types(events)
    if not exact:
        return _strict
    from msgspec.json import Encoder as MsgspecEncoder

    encode = MsgspecEncoder().encode

    def line(event: "Any") -> bytes:
        try:
            if event["type"] in exact:
                return encode(event)
        except _DOUBTS:
            pass  # not what was declared
        return _strict(event)

    return line


def _strict(event: "Any") -> bytes:
    check_type(event)
    return utf8(fast_encoder()[1](event))


def _exact_types(events: "Iterable[type[Event]]") -> "frozenset[str]":
    """The declared types that may go through msgspec; none where it is not installed."""
    try:
        __import__("msgspec")
    except ImportError:
        return frozenset()
    rows = set(made_events())
    exact = [event for event in events if event in rows and all(map(_is_exact, field_kinds(event).values()))]
    return frozenset(event.wire_type for event in exact)


def _is_exact(kind: "ValueKind") -> bool:
    """Whether msgspec writes every value of this kind as the strict encoder does; it makes null of a NaN, for example."""
    if kind.base == "record" and kind.model is not None:
        return all(map(_is_exact, field_kinds(kind.model).values()))
    if kind.form is not None or (kind.base == "choice" and kind.model is not None):
        return False
    return kind.base in _EXACT or (kind.base == "array" and kind.item is not None and _is_exact(kind.item))


_made: "dict[type[Any], type[Event]]" = {}


def made_events() -> "Iterable[type[Event]]":
    """The classes that stand for a `TypedDict`."""
    return _made.values()


def event_of(row: "Any") -> "type[Event]":
    """An Event class with the fields of a TypedDict, for everything that describes events."""
    if row not in _made:
        annotations = {name: kind for name, kind in row.__annotations__.items() if name != "type"}
        # Any default but None, which would promise nulls; no instance is ever made.
        body: dict[str, Any] = {name: ... for name in annotations if name not in row.__required_keys__}
        body |= {"__annotations__": annotations, "__module__": row.__module__, "__doc__": row.__doc__}
        record_type: Any = type(Event)
        _made[row] = record_type(row.__name__, (Event,), body, type=_wire_type(row))
    return _made[row]


def _wire_type(row: "Any") -> str:
    kind = row.__annotations__.get("type")
    text = getattr(kind, "__forward_arg__", None) or str(kind)
    if "Literal[" in text:
        return str(text.partition("[")[2].strip("]'\" "))
    return snake_case(row.__name__)
