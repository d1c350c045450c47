"""Encoders for long streams: the C core of JSON, and code that is generated for one class of records.

`records.json_text` is right for the handful of small events of a short command, where anything imported costs more than
it saves. Once a stream turns out to be long or a document is large, `fast_encoder` takes the C core that CPython keeps in
`_json`; importing the public `json` instead would cost 8 ms, most of an interpreter start. `_json` is private to CPython:
where it is missing or has changed shape, `json` takes its place.

What JSON does not know (records, paths, times) is converted in one place, `plain`; a guess is refused.
"""

from operable.tool.annotations import field_kinds
from operable.tool.kinds import MUTABLE, REQUIRED, fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from operable.tool.kinds import ValueKind

# Subclasses, such as the members of an IntEnum, are what they are made of, whatever their own `__str__` says.
_MAKERS: "tuple[tuple[type[Any], Callable[[Any], Any]], ...]" = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (dict, dict),
    (list, list),
    (tuple, tuple),
    (set, sorted),
    (frozenset, sorted),
)


def plain(value: "Any") -> "Any":
    """A JSON value for something that JSON does not know; refuses what would be a guess."""
    if hasattr(value, "__wire_names__") and not isinstance(value, type):
        return value.to_dict()
    if hasattr(type(value), "__members__"):
        from operable.tool.values.scalars import enum_choice

        return enum_choice(value)
    for kind, make in _MAKERS:
        if isinstance(value, kind):
            return make(value)
    if hasattr(value, "__fspath__"):
        path = value.__fspath__()
        return path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path
    from operable.tool.values.scalars import dataclass_names, written

    text = written(value)
    if text is not None:
        return text
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in dataclass_names(type(value))}
    msg = f"{type(value).__name__} is not a JSON value"
    raise TypeError(msg)


_fast: "tuple[Callable[[str], str], Callable[[Any], str]] | None" = None


def fast_encoder() -> "tuple[Callable[[str], str], Callable[[Any], str]]":
    """`quote` and `json_text` in C; made once."""
    global _fast  # noqa: PLW0603
    if _fast is None:
        _fast = _private_encoder() or _public_encoder()
    return _fast


def _private_encoder() -> "tuple[Callable[[str], str], Callable[[Any], str]] | None":
    try:
        from _json import encode_basestring, make_encoder

        encode = make_encoder(None, plain, encode_basestring, None, ":", ",", False, False, False)
        join = "".join
        if join(encode({"a": [1, None, "é"]}, 0)) == '{"a":[1,null,"é"]}':
            return encode_basestring, lambda value: join(encode(value, 0))
    except (ImportError, TypeError):
        pass  # not CPython, or one that changed its private module
    return None


def _public_encoder() -> "tuple[Callable[[str], str], Callable[[Any], str]]":
    import json

    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    return encoder.encode, encoder.encode


# What each scalar kind writes into the generated f-string, and the test that its value must pass first.
_SCALARS = {
    "string": ("{{quoted({0})}}", "{0}.__class__ is str"),
    "integer": ("{{{0}}}", "{0}.__class__ is int"),
    # x - x is nan for infinities and nan, which JSON cannot express.
    "number": ("{{{0}!r}}", "({0}.__class__ is float and {0} - {0} == 0.0)"),
    "boolean": ("{{'true' if {0} else 'false'}}", "{0}.__class__ is bool"),
}


def generate(cls: "type[Any]") -> None:
    """Write `__init__` and `to_json` of one record class."""
    fast_quote, fast_text = fast_encoder()
    names: dict[str, Any] = {
        "quoted": fast_quote,
        "encoded": fast_text,
        "array": _array_encoder(fast_text),
        "__fresh": fresh,
    }
    made: dict[str, Callable[..., Any]] = {}
    source = "\n".join([*_constructor(cls, names), *_encoder(cls, fast_quote)])
    exec(source, names, made)  # noqa: S102 - made of field names, which are identifiers, and checked type names
    for name, function in made.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, function)


def _constructor(cls: "type[Any]", names: "dict[str, Any]") -> "list[str]":
    """Source of `__init__`. Its own names begin with two underscores, which no field in a class body can."""
    required, optional, stores = [], [], []
    for field, default in cls.__fields__.items():
        if default is REQUIRED:
            required.append(field)
        else:
            names[f"__default_{field}"] = default
            optional.append(f"{field}=__default_{field}")
        value = f"__fresh({field})" if isinstance(default, MUTABLE) else field
        stores.append(f"    __self.{field} = {value}")
    star = ", *, " if stores else ""
    return [f"def __init__(__self, /{star}{', '.join([*required, *optional])}):", *stores, "    return None"]


def _encoder(cls: "type[Any]", quote: "Callable[[str], str]") -> "list[str]":
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


def _array_encoder(encoded: "Callable[[Any], str]") -> "Callable[[Any], str]":
    def array(values: "Any") -> str:
        """An array of records, each with its own encoder; anything else takes the general path."""
        if values.__class__ is list:
            try:
                return f"[{','.join([value.to_json() for value in values])}]"
            except AttributeError:
                pass  # not all of them are records
        return encoded(values)

    return array


def _encoding(variable: str, kind: "ValueKind") -> "tuple[str, str]":
    """The f-string piece for one field, and the test its value must pass ("" = any value may take it)."""
    if kind.base in _SCALARS and kind.form is None:
        piece, test = (template.format(variable) for template in _SCALARS[kind.base])
        if not kind.nullable:
            return piece, test
        inner = piece[1:-1].removesuffix("!r")
        inner = f"repr({inner})" if kind.base == "number" else f"{inner}"
        return f"{{'null' if {variable} is None else {inner}}}", f"({variable} is None or {test})"
    if kind.base == "array" and kind.item and kind.item.base == "record" and not kind.nullable:
        return f"{{array({variable})}}", ""
    return f"{{encoded({variable})}}", ""
