"""Typed plain values and their JSON text: `Record`, `Event` (goes out), `Input` (comes in) and `Options`.

A class body of annotations becomes slots, a keyword constructor and a JSON encoder. The first instances of a class
are built and encoded by general code. Once there are `MANY`, constructor and encoder are generated for that class in
one `exec`: a short command never pays for compiling, and a long stream is encoded by an f-string over CPython's C
string escaper, which costs less CPU than any JSON library that would have to be imported first (docs/decisions/0004).
A value that is not of its annotated type never reaches the f-string: it takes the general path, so the output is JSON
whatever the author put in.

This module does not validate (`run.intake`) and knows no JSON Schema (`discovery.schema`).
"""

from operable.tool.kinds import REQUIRED, fresh, is_class_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, dataclass_transform

else:

    def dataclass_transform(**_options: object) -> "Callable[[Any], Any]":
        return lambda cls: cls


_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
# A text of this length takes as long to escape in Python as the C escaper takes to load.
_LONG = 400
# Two frames of Python a level: what nests deeper is left to the C encoder, which goes as deep as the interpreter allows.
_DEEPEST = 200
# Generating code for a class costs as much as building and encoding about this many instances without it.
MANY = 64


# What a record class makes of its fields, and an author cannot write.
_MADE = ("__init__", "to_json", "to_dict")


def quote(text: str) -> str:
    """A JSON string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    if len(text) > _LONG:
        from operable.tool.encoders import fast_encoder

        return fast_encoder()[0](text)
    return '"' + "".join([_SHORT.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in text]) + '"'


def json_text(value: "Any", depth: int = 0) -> str:
    """One line of compact JSON; ValueError for NaN and too much nesting, TypeError for what is not JSON."""
    kind = value.__class__
    if kind is str:
        return quote(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return int.__repr__(value)
    if depth > _DEEPEST:
        from operable.tool.encoders import fast_encoder

        return fast_encoder()[1](value)
    if kind is dict:
        return (
            "{"
            + ",".join([f"{_key(name)}:{json_text(inner, depth + 1)}" for name, inner in value.items()])
            + "}"
        )
    if kind is list or kind is tuple:
        return "[" + ",".join([json_text(inner, depth + 1) for inner in value]) + "]"
    if kind is float:
        if value - value != 0.0:
            raise ValueError("NaN and infinities are not JSON")
        return float.__repr__(value)
    if isinstance(value, Record):
        return json_text(value.to_dict(), depth + 1)
    from operable.tool.encoders import plain

    return json_text(plain(value), depth + 1)


def _key(name: "Any") -> str:
    if isinstance(name, str):
        return quote(str.__str__(name))
    if name is None or isinstance(name, bool | int | float):
        return quote(json_text(name))
    msg = f"a key must be a string, not {type(name).__name__}"
    raise TypeError(msg)


def wire_bytes(text: str) -> bytes:
    """UTF-8 of encoded JSON lines, with nothing in it that could act on a terminal."""
    return harmless(utf8(text))


def utf8(text: str) -> bytes:
    """UTF-8 of any text; a lone surrogate, which has none, is left for `harmless` to replace."""
    return text.encode("utf-8", "surrogatepass")


def harmless(data: bytes) -> bytes:
    """Encoded JSON lines without what a terminal might obey.

    DEL, the C1 controls (some terminals take U+009B for ESC [) and lone surrogates are legal inside a JSON string as far as
    its grammar goes, but must not reach a reader raw: they are escaped, or U+FFFD where no character is meant.
    """
    # C1 controls begin with 0xC2 in UTF-8 and surrogates with 0xED, so most text is seen to be clean at a glance.
    if b"\x7f" not in data and (data.isascii() or (b"\xc2" not in data and b"\xed" not in data)):
        return data
    table: dict[int, str] = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
    table.update((code, "\ufffd") for code in range(0xD800, 0xE000))
    return data.decode("utf-8", "surrogatepass").translate(table).encode("utf-8")


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

    __fields__: "dict[str, Any]"

    def __new__(
        cls, name: str, bases: "tuple[type, ...]", body: "dict[str, Any]", type: "str | None" = None
    ) -> "_RecordType":
        annotations = body.get("__annotations__", {})
        if not annotations and "__annotate_func__" in body:  # Python 3.14 evaluates annotations on demand
            annotations = body["__annotate_func__"](1)
        own = [field for field in annotations if not is_class_variable(annotations[field])]
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


def _wire_names(name: str, fields: "dict[str, Any]", *, typed: bool) -> "dict[str, str]":
    """Field -> name in JSON. As with parameters, a trailing underscore (`from_`) only avoids a name that is taken."""
    found = {field: field.rstrip("_") or field for field in fields}
    used = {"type"} if typed else set()
    for wire_name in found.values():
        if wire_name in used:
            msg = f"{name} has {wire_name!r} twice in its JSON"
            raise TypeError(msg)
        used.add(wire_name)
    return found


def _refuse_taken(name: str, bases: "tuple[type, ...]", new: "list[str]", body: "dict[str, Any]") -> None:
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
        __fields__: "ClassVar[dict[str, Any]]"  # name -> default, or REQUIRED
        __wire_names__: "ClassVar[dict[str, str]]"
        wire_type: "ClassVar[str]"
        # Of an Input: the upstream event types it takes; none named = any.
        accepted_types: "ClassVar[tuple[str, ...]]"
    _typed = False  # does the JSON of this class carry a `type`?
    _grouped = False  # does a parameter of this class become one option per field?
    _made = 0

    def __init__(self, /, **values: "Any") -> None:
        cls = type(self)
        cls._made += 1
        if cls._made > MANY:
            from operable.tool.encoders import generate

            generate(cls)  # puts faster methods into the subclass, which take over from here
            cls.__init__(self, **values)
            return
        for field, default in cls.__fields__.items():
            if field in values:
                setattr(self, field, values.pop(field))
            elif default is not REQUIRED:
                setattr(self, field, fresh(default))
            else:
                msg = f"{cls.__name__}() is missing the field {field!r}"
                raise TypeError(msg)
        if values:
            msg = f"{cls.__name__}() has no field {next(iter(values))!r}"
            raise TypeError(msg)

    def to_json(self) -> str:
        """This value as one line of compact JSON."""
        return json_text(self.to_dict())

    def to_dict(self) -> "dict[str, Any]":
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


def check_type(event: "dict[str, Any]") -> None:
    """Refuse a dictionary that is not a domain event."""
    kind = event.get("type")
    if not isinstance(kind, str) or not kind or kind.startswith("aoi:"):
        msg = f"a domain event needs a `type` that is a name without the aoi: prefix, not {kind!r}"
        raise TypeError(msg)
