"""Typed plain values: `Record` and what is made of it, `Event` (goes out) and `Input` (comes in).

A class body of annotations becomes slots, a keyword constructor and a JSON encoder. The first instances of a class
are built and encoded by general code. Once there are `MANY`, constructor and encoder are generated for that class in
one `exec`: a short command never pays for compiling, and a long stream is encoded by an f-string over CPython's C
string escaper, which costs less CPU than any JSON library that would have to be imported first (docs/decisions/0004).
A value that is not of its annotated type never reaches the f-string: it takes the general path, so the output is JSON
whatever the author put in.

This module does not validate (`check`) and knows no JSON Schema (`describe`).
"""

from __future__ import annotations

from operable.tool.json_text import fast_encoder, json_text, quote
from operable.tool.kinds import Kind, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, dataclass_transform
else:

    def dataclass_transform(**_options: object) -> Callable[[Any], Any]:
        return lambda cls: cls


REQUIRED = object()
# Generating code for a class costs as much as building and encoding about this many instances without it.
MANY = 64

# What each scalar kind writes into the generated f-string, and the test that its value must pass first.
_SCALARS = {
    "string": ("{{quoted({0})}}", "{0}.__class__ is str"),
    "integer": ("{{{0}}}", "{0}.__class__ is int"),
    # x - x is nan for infinities and nan, which JSON cannot express.
    "number": ("{{{0}!r}}", "({0}.__class__ is float and {0} - {0} == 0.0)"),
    "boolean": ("{{'true' if {0} else 'false'}}", "{0}.__class__ is bool"),
}


def snake_case(name: str) -> str:
    """`SearchHit` -> `search_hit`."""
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def checked_name(name: str) -> str:
    """A wire type as it may stand in generated code: letters, digits and `_ - . :` (a list of them for an Input)."""
    if (
        not name.replace("_", "")
        .replace("-", "")
        .replace(".", "")
        .replace(":", "")
        .replace(" ", "")
        .isalnum()
    ):
        msg = f"{name!r} is no name for an event type"
        raise TypeError(msg)
    return name


class _RecordType(type):
    """Turns the annotations of a class body into slots before the class exists."""

    __fields__: dict[str, Any]

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], type: str | None = None
    ) -> _RecordType:
        annotations: dict[str, Any] | None = body.get("__annotations__")
        if annotations is None and "__annotate_func__" in body:  # Python 3.14 evaluates annotations on demand
            annotations = body["__annotate_func__"](1)
        own = [field for field, kind in (annotations or {}).items() if not str(kind).startswith("ClassVar")]
        fields: dict[str, Any] = {}
        for base in bases:
            fields.update(getattr(base, "__fields__", {}))
        for field in own:
            fields[field] = body.pop(field, REQUIRED)
        inherited = {field for base in bases for field in getattr(base, "__fields__", {})}
        body["__slots__"] = tuple(field for field in own if field not in inherited)
        body["__fields__"] = fields
        body["__match_args__"] = tuple(fields)
        body["_made"] = 0
        body["wire_type"] = checked_name(type or snake_case(name))
        body["accepted_types"] = tuple(type.split()) if type else ()
        return super().__new__(cls, name, bases, body)


@dataclass_transform(kw_only_default=True)
class Record(metaclass=_RecordType):
    """A nested object with named, typed fields."""

    if TYPE_CHECKING:
        __fields__: ClassVar[dict[str, Any]]
        wire_type: ClassVar[str]
        accepted_types: ClassVar[
            tuple[str, ...]
        ]  # of an Input: the upstream event types it takes; none named = any
    _typed = False  # does the JSON of this class carry a `type`?
    _made = 0

    def __init__(self, **values: Any) -> None:
        cls = type(self)
        cls._made += 1
        if cls._made > MANY:
            generate(cls)  # puts faster methods into the subclass, which take over from here
            cls.__init__(self, **values)
            return
        for field, default in cls.__fields__.items():
            if field in values:
                setattr(self, field, values.pop(field))
            elif default is not REQUIRED:
                setattr(self, field, _fresh(default))
            else:
                msg = f"{cls.__name__}() is missing the field {field!r}"
                raise TypeError(msg)
        if values:
            msg = f"{cls.__name__}() has no field {next(iter(values))!r}"
            raise TypeError(msg)

    def to_json(self) -> str:
        """This value as one line of compact JSON."""
        return json_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, `type` first where the class has one."""
        fields = {field: getattr(self, field) for field in self.__fields__}
        return {"type": self.wire_type, **fields} if self._typed else fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # values that can change are no keys

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self.__fields__)})"


class Event(Record):
    """A domain event: one line of the stream, discriminated by `type`."""

    _typed = True


class Input(Record):
    """One item of structured input. Unknown fields are refused; `line_number` tells where it came from."""

    __slots__ = ("line_number",)


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
    fields = cls.__fields__
    fast_quote, fast_text = fast_encoder()
    names: dict[str, Any] = {
        "quoted": fast_quote,
        "encoded": fast_text,
        "fresh": _fresh,
        "array": _array_encoder(fast_text),
    }
    names.update(
        {f"default_{field}": default for field, default in fields.items() if default is not REQUIRED}
    )
    parameters = [field for field in fields if fields[field] is REQUIRED]
    parameters += [f"{field}=default_{field}" for field in fields if fields[field] is not REQUIRED]
    source = [f"def __init__(self{', *, ' if fields else ''}{', '.join(parameters)}):"]
    for field, default in fields.items():
        value = f"fresh({field})" if isinstance(default, list | dict) else field
        source.append(f"    self.{field} = {value}")
    source.append("    return None")
    pieces, tests = [f'"type":{quote(cls.wire_type)}'] if cls._typed else [], []
    source.append("def to_json(self):")
    for field, kind in field_kinds(cls).items():
        piece, test = _encoding(f"x_{field}", kind)
        source.append(f"    x_{field} = self.{field}")
        pieces.append(f"{quote(field)}:{piece}")
        if test:
            tests.append(test)
    literal = ",".join(pieces)
    source.append(f"    if {' and '.join(tests) or 'True'}:")
    source.append(f"        return f'''{{{{{literal}}}}}'''")
    source.append("    return encoded(self.to_dict())")
    made: dict[str, Callable[..., Any]] = {}
    exec("\n".join(source), names, made)  # noqa: S102 - made of field names, which are identifiers, and checked type names
    for name, function in made.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        if name not in cls.__dict__:
            setattr(cls, name, function)


def _array_encoder(encoded: Callable[[Any], str]) -> Callable[[Any], str]:
    def array(values: Any) -> str:
        """An array of records, each with its own encoder; anything else takes the general path."""
        try:
            return f"[{','.join([value.to_json() for value in values])}]"
        except (AttributeError, TypeError):
            return encoded(values)

    return array


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
        return f"{{array({variable})}}", ""
    return f"{{encoded({variable})}}", ""
