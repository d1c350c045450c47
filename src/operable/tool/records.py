"""Typed plain values: `Record` and what is made of it, `Event` (goes out) and `Input` (comes in).

A class body of annotations becomes slots, a keyword constructor and a JSON encoder. The constructor and the encoder are
generated, both in one `exec`, when the first instance is made: a tool with thirty event types that emits one of them pays
for one. The encoder is an f-string over CPython's C string escaper; it costs less CPU than any JSON library that would have
to be imported first (docs/decisions/0004). A value that is not of its annotated type never reaches the f-string: it takes
the general path, so the output is JSON whatever the author put in.

This module does not validate (`check`) and knows no JSON Schema (`describe`).
"""

from __future__ import annotations

from operable.tool.json_text import array_text, json_text, quote
from operable.tool.kinds import Kind, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


REQUIRED = object()

# What each scalar kind writes into the generated f-string, and the test that its value must pass first.
_SCALARS = {
    "string": ("{{q({0})}}", "{0}.__class__ is str"),
    "integer": ("{{{0}}}", "{0}.__class__ is int"),
    # x - x is nan for infinities and nan, which JSON cannot express.
    "number": ("{{{0}!r}}", "({0}.__class__ is float and {0} - {0} == 0.0)"),
    "boolean": ("{{'true' if {0} else 'false'}}", "{0}.__class__ is bool"),
}


def snake_case(name: str) -> str:
    """`SearchHit` -> `search_hit`."""
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


class _RecordType(type):
    """Turns the annotations of a class body into slots before the class exists."""

    __fields__: dict[str, Any]

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], type: str | None = None
    ) -> _RecordType:
        annotations = body.get("__annotations__")
        if annotations is None and "__annotate_func__" in body:  # Python 3.14 evaluates annotations on demand
            annotations = body["__annotate_func__"](1)
        own = [field for field in annotations or () if not str(annotations[field]).startswith("ClassVar")]
        fields: dict[str, Any] = {}
        for base in bases:
            fields.update(getattr(base, "__fields__", {}))
        for field in own:
            fields[field] = body.pop(field, REQUIRED)
        inherited = {field for base in bases for field in getattr(base, "__fields__", {})}
        body["__slots__"] = tuple(field for field in own if field not in inherited)
        body["__fields__"] = fields
        body["__match_args__"] = tuple(fields)
        body["wire_type"] = type or snake_case(name)
        body["accepted_types"] = tuple(type.split()) if type else ()
        return super().__new__(cls, name, bases, body)


@dataclass_transform(kw_only_default=True)
class Record(metaclass=_RecordType):
    """A nested object with named, typed fields."""

    if TYPE_CHECKING:
        __fields__: ClassVar[dict[str, Any]]
        wire_type: ClassVar[str]
        accepted_types: ClassVar[tuple[str, ...]]  # of an Input: the upstream event types it takes; none named = any
    _typed = False  # does the JSON of this class carry a `type`?

    def __init__(self, **values: Any) -> None:
        generate(type(self))  # replaces this method in the subclass
        type(self).__init__(self, **values)

    def to_json(self) -> str:
        """This value as one line of compact JSON."""
        generate(type(self))
        return self.to_json()

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, `type` first where the class has one."""
        fields = {field: getattr(self, field) for field in self.__fields__}
        return {"type": self.wire_type, **fields} if self._typed else fields

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self.__fields__)})"


class Event(Record):
    """A domain event: one line of the stream, discriminated by `type`."""

    _typed = True


class Input(Record):
    """One item of structured input. Unknown fields are refused; `line_number` tells where it came from."""

    __slots__ = ("line_number",)
    if TYPE_CHECKING:
        line_number: ClassVar[int]


def field_kinds(cls: type[Record]) -> dict[str, Kind]:
    """The kind of each field, its annotation read in the module of the class that declares it."""
    import sys

    found: dict[str, Kind] = {}
    for owner in reversed(cls.__mro__):
        annotations = owner.__dict__.get("__annotations__") or getattr(owner, "__annotations__", {})
        namespace = sys.modules[owner.__module__].__dict__
        for field, annotation in annotations.items():
            if field in cls.__fields__:
                found[field] = kind_of(annotation, namespace)
    return found


def generate(cls: type[Any]) -> None:
    """Write `__init__` and `to_json` of one record class."""
    kinds = field_kinds(cls)
    fields = cls.__fields__
    names: dict[str, Any] = {"q": quote, "v": json_text, "a": array_text}
    required = [field for field in fields if fields[field] is REQUIRED]
    optional = [field for field in fields if fields[field] is not REQUIRED]
    names.update({f"d_{field}": fields[field] for field in optional})
    star = ", *, " if fields else ""
    signature = star + ", ".join([*required, *(f"{field}=d_{field}" for field in optional)])
    stores = [f"    self.{field} = d_copy({field})" if _mutable(fields[field]) else f"    self.{field} = {field}" for field in fields]
    names["d_copy"] = _fresh
    pieces, tests, loads = [f'"type":{quote(cls.wire_type)}'] if cls._typed else [], [], []
    for field in fields:
        piece, test = _encoding(f"x_{field}", kinds[field])
        loads.append(f"    x_{field} = self.{field}")
        pieces.append(f"{quote(field)}:{piece}")
        if test:
            tests.append(test)
    body = ",".join(pieces).replace("\\", "\\\\").replace("'''", "\\'''")
    source = "\n".join(
        [
            f"def __init__(self{signature}):",
            *(stores or ["    pass"]),
            "def to_json(self):",
            *loads,
            f"    if {' and '.join(tests) or 'True'}:",
            f"        return f'''{{{{{body}}}}}'''",
            "    return v(self.to_dict())",
        ]
    )
    made: dict[str, Callable[..., Any]] = {}
    exec(source, names, made)  # noqa: S102 - the source is made of field names, which are Python identifiers
    for name, function in made.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        if name not in cls.__dict__:
            setattr(cls, name, function)


def _mutable(default: object) -> bool:
    return isinstance(default, list | dict)


def _fresh(value: Any) -> Any:
    """A list or dict given as a default must not be shared between instances; copying given ones too is harmless."""
    return value.copy() if isinstance(value, list | dict) else value


def _encoding(variable: str, kind: Kind) -> tuple[str, str]:
    """The f-string piece for one field, and the test its value must pass ("" = any value may take it)."""
    if kind.base in _SCALARS:
        piece, test = (template.format(variable) for template in _SCALARS[kind.base])
        if not kind.nullable:
            return piece, test
        inner = piece[1:-1].removesuffix("!r")
        inner = f"repr({inner})" if kind.base == "number" else f"{inner}"
        return f"{{'null' if {variable} is None else {inner}}}", f"({variable} is None or {test})"
    if kind.base == "array" and kind.item and kind.item.base == "record" and not kind.nullable:
        return f"{{a({variable})}}", ""
    return f"{{v({variable})}}", ""
