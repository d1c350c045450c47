"""Typed plain values: `Record` and what is made of it, `Event` (goes out), `Input` (comes in) and `Options`.

A class body of annotations becomes slots, a keyword constructor and a JSON encoder. The first instances of a class
are built and encoded by general code. Once there are `MANY`, constructor and encoder are generated for that class in
one `exec`: a short command never pays for compiling, and a long stream is encoded by an f-string over CPython's C
string escaper, which costs less CPU than any JSON library that would have to be imported first (docs/decisions/0004).
A value that is not of its annotated type never reaches the f-string: it takes the general path, so the output is JSON
whatever the author put in.

This module does not validate (`check`) and knows no JSON Schema (`describe`).
"""

from __future__ import annotations

from operable.tool.declare.kinds import ValueKind, kind_of
from operable.tool.json_text import fast_encoder, json_text, quote

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
_MUTABLE = (list, dict, set)

# What each scalar kind writes into the generated f-string, and the test that its value must pass first.
_SCALARS = {
    "string": ("{{quoted({0})}}", "{0}.__class__ is str"),
    "integer": ("{{{0}}}", "{0}.__class__ is int"),
    # x - x is nan for infinities and nan, which JSON cannot express.
    "number": ("{{{0}!r}}", "({0}.__class__ is float and {0} - {0} == 0.0)"),
    "boolean": ("{{'true' if {0} else 'false'}}", "{0}.__class__ is bool"),
}


# What a record class makes of its fields, and an author cannot write.
_MADE = ("__init__", "to_json", "to_dict")


def snake_case(name: str) -> str:
    """`SearchHit` -> `search_hit`, `HTTPError` -> `http_error`."""
    found = ""
    for index, letter in enumerate(name):
        begins = index and letter.isupper() and name[index - 1] != "_"
        if begins and (not name[index - 1].isupper() or name[index + 1 : index + 2].islower()):
            found += "_"
        found += letter.lower()
    return found


def checked_name(name: str) -> str:
    """A wire type as it may be in generated code and in a JSON pointer: ASCII letters, digits and `_ - . :`."""
    letters = name.replace("_", "").replace("-", "").replace(".", "").replace(":", "")
    if not letters.isalnum() or not letters.isascii():
        msg = f"{name!r} is not a name for an event type: use letters, digits, _ - and ."
        raise TypeError(msg)
    return name


class _RecordType(type):
    """Turns the annotations of a class body into slots before the class exists."""

    __fields__: dict[str, Any]

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], type: str | None = None
    ) -> _RecordType:
        annotations = body.get("__annotations__", {})
        if not annotations and "__annotate_func__" in body:  # Python 3.14 evaluates annotations on demand
            annotations = body["__annotate_func__"](1)
        own = [field for field in annotations if not _is_class_variable(annotations[field])]
        fields: dict[str, Any] = {}
        for base in bases:
            fields.update(getattr(base, "__fields__", {}))
        inherited = tuple(fields)
        for field in inherited:
            if field in body and field not in own:  # a new default without a new annotation
                fields[field] = body.pop(field)
        for field in own:
            fields[field] = body.pop(field, REQUIRED)
        typed = any(getattr(base, "_typed", False) for base in bases)
        body["__wire_names__"] = _wire_names(name, fields, typed=typed)
        if bases:
            _refuse_taken(name, bases, [field for field in own if field not in inherited], body)
        if inherited:  # what is generated for a class must not serve its subclasses, which have more fields
            body.update(__init__=Record.__init__, to_json=Record.to_json)
        body["__slots__"] = (*body.get("__slots__", ()), *(field for field in own if field not in inherited))
        body["__fields__"] = fields
        body["__match_args__"] = tuple(fields)
        body["_made"] = 0
        accepted = tuple(type.split()) if type and not typed else ()
        body["wire_type"] = checked_name(accepted[0] if accepted else type or snake_case(name))
        body["accepted_types"] = accepted
        return super().__new__(cls, name, bases, body)


def _is_class_variable(annotation: Any) -> bool:
    return str(annotation).removeprefix("typing.").startswith("ClassVar")


def _wire_names(name: str, fields: dict[str, Any], *, typed: bool) -> dict[str, str]:
    """Field -> name in JSON. As with parameters, a trailing underscore (`from_`) only avoids a name that is taken."""
    found = {field: field.rstrip("_") or field for field in fields}
    used = {"type"} if typed else set()
    for wire_name in found.values():
        if wire_name in used:
            msg = f"{name} has {wire_name!r} twice in its JSON"
            raise TypeError(msg)
        used.add(wire_name)
    return found


def _refuse_taken(name: str, bases: tuple[type, ...], new: list[str], body: dict[str, Any]) -> None:
    for made in _MADE:
        if made in body:
            msg = f"{name}.{made} is made from the fields; write a function that returns a {name} instead"
            raise TypeError(msg)
    for field in new:
        if any(hasattr(base, field) for base in bases):
            msg = f"{name} cannot have a field {field!r}, a name that every record has; in JSON, {field}_ is {field} too"
            raise TypeError(msg)


@dataclass_transform(kw_only_default=True)
class Record(metaclass=_RecordType):
    """A nested object with named, typed fields."""

    if TYPE_CHECKING:
        __fields__: ClassVar[dict[str, Any]]  # name -> default, or REQUIRED
        __wire_names__: ClassVar[dict[str, str]]
        wire_type: ClassVar[str]
        # Of an Input: the upstream event types it takes; none named = any.
        accepted_types: ClassVar[tuple[str, ...]]
    _typed = False  # does the JSON of this class carry a `type`?
    _grouped = False  # does a parameter of this class become one option per field?
    _made = 0

    def __init__(self, /, **values: Any) -> None:
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
        fields = {name: getattr(self, field) for field, name in self.__wire_names__.items()}
        return {"type": self.wire_type, **fields} if self._typed else fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # values that can change are not keys

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self.__fields__)})"


class Event(Record):
    """A domain event: one line of the stream, discriminated by `type`."""

    _typed = True


class Input(Record):
    """One item of structured input. Unknown fields are refused; `line_number` says where it came from."""

    __slots__ = ("line_number",)
    if TYPE_CHECKING:

        @property
        def line_number(self) -> int: ...


class Options(Record):
    """Options that several commands share. A keyword-only parameter of such a class becomes one option per field.

    The docstring of a subclass gives the help of each option in lines `name: text`, as that of a command does; the same
    line in the docstring of a command wins.
    """

    _grouped = True


_kinds: dict[type[Record], dict[str, ValueKind]] = {}


def field_kinds(cls: type[Record]) -> dict[str, ValueKind]:
    """The kind of each field, its annotation read in the module of the class that declares it."""
    if cls in _kinds:
        return _kinds[cls]
    import sys

    found: dict[str, ValueKind] = {}
    for owner in reversed(cls.__mro__):
        annotations = owner.__dict__.get("__annotations__") or getattr(owner, "__annotations__", {})
        namespace = getattr(sys.modules.get(owner.__module__), "__dict__", {})
        for field, annotation in annotations.items():
            if field in cls.__fields__ and not _is_class_variable(annotation):
                kind = kind_of(annotation, namespace)
                # `title: str = None` promises a null as clearly as `str | None` does.
                found[field] = kind if cls.__fields__[field] is not None else kind.or_none()
    _kinds[cls] = found
    return found


def generate(cls: type[Any]) -> None:
    """Write `__init__` and `to_json` of one record class."""
    fast_quote, fast_text = fast_encoder()
    names: dict[str, Any] = {
        "quoted": fast_quote,
        "encoded": fast_text,
        "array": _array_encoder(fast_text),
        "__fresh": _fresh,
    }
    made: dict[str, Callable[..., Any]] = {}
    source = "\n".join([*_constructor(cls, names), *_encoder(cls)])
    exec(source, names, made)  # noqa: S102 - made of field names, which are identifiers, and checked type names
    for name, function in made.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, function)


def _constructor(cls: type[Any], names: dict[str, Any]) -> list[str]:
    """Source of `__init__`. Its own names begin with two underscores, which no field in a class body can."""
    required, optional, stores = [], [], []
    for field, default in cls.__fields__.items():
        if default is REQUIRED:
            required.append(field)
        else:
            names[f"__default_{field}"] = default
            optional.append(f"{field}=__default_{field}")
        value = f"__fresh({field})" if isinstance(default, _MUTABLE) else field
        stores.append(f"    __self.{field} = {value}")
    star = ", *, " if stores else ""
    return [f"def __init__(__self, /{star}{', '.join([*required, *optional])}):", *stores, "    return None"]


def _encoder(cls: type[Any]) -> list[str]:
    """Source of `to_json`: an f-string for values of the annotated types, the general encoder for others."""
    pieces, tests, loads = [f'"type":{quote(cls.wire_type)}'] if cls._typed else [], [], []
    for field, kind in field_kinds(cls).items():
        piece, test = _encoding(f"x_{field}", kind)
        loads.append(f"    x_{field} = self.{field}")
        pieces.append(f"{quote(cls.__wire_names__[field])}:{piece}")
        if test:
            tests.append(test)
    return [
        "def to_json(self):",
        *loads,
        f"    if {' and '.join(tests) or 'True'}:",
        f"        return f'''{{{{{','.join(pieces)}}}}}'''",
        "    return encoded(self.to_dict())",
    ]


def _array_encoder(encoded: Callable[[Any], str]) -> Callable[[Any], str]:
    def array(values: Any) -> str:
        """An array of records, each with its own encoder; anything else takes the general path."""
        if values.__class__ is list:
            try:
                return f"[{','.join([value.to_json() for value in values])}]"
            except AttributeError:
                pass  # not all of them are records
        return encoded(values)

    return array


def _fresh(value: Any) -> Any:
    """A container given as a default must not be shared between instances; copying given ones too is harmless."""
    return value.copy() if isinstance(value, _MUTABLE) else value


def _encoding(variable: str, kind: ValueKind) -> tuple[str, str]:
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


def check_type(event: dict[str, Any]) -> None:
    """Refuse a dictionary that is not a domain event."""
    kind = event.get("type")
    if not isinstance(kind, str) or not kind or kind.startswith("aoi:"):
        msg = f"a domain event needs a `type` that is a name without the aoi: prefix, not {kind!r}"
        raise TypeError(msg)
