"""What an annotation means that is not one of the common types: generics, unions, choices, records.

Theory of operation: strings are evaluated in the author's module with stand-ins for the few names of `typing` that matter,
so that neither the author nor we import `typing` (8 ms, more than half an interpreter start). The author's own names come
first. Objects of the real `typing` are understood through their attributes, again without importing it.
"""

import sys

from operable.tool.kinds import ANY, OBJECT, REQUIRED, ValueKind, common, is_class_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ARRAYS = ("list", "Sequence", "tuple", "set", "frozenset")


class _StandIn:
    """Stands for a generic of `typing` while a string annotation is evaluated: `Literal["a"]`, `Iterator[Hit]`."""

    __slots__ = ("__args__", "__origin__")

    def __init__(self, origin: str, args: "tuple[Any, ...]" = ()) -> None:
        self.__origin__ = origin
        self.__args__ = args

    def __getitem__(self, args: "Any") -> "_StandIn":
        return _StandIn(self.__origin__, args if isinstance(args, tuple) else (args,))

    def __or__(self, other: "Any") -> "_StandIn":
        return _StandIn("Union", (self, other))

    def __ror__(self, other: "Any") -> "_StandIn":
        return _StandIn("Union", (other, self))


_FORMS = "Literal Union Optional Annotated Required NotRequired ReadOnly Sequence"


_RESULTS = "Iterator Iterable Generator AsyncIterator AsyncIterable AsyncGenerator"


_NAMES: "dict[str, Any]" = {name: _StandIn(name) for name in f"{_FORMS} {_RESULTS}".split()} | {"Any": object}


def evaluate(annotation: "Any", namespace: "Mapping[str, Any]") -> "Any":
    """The object behind an annotation, quoted or not; one that cannot be read is the author's mistake: TypeError."""
    seen = 0
    while isinstance(text := getattr(annotation, "__forward_arg__", annotation), str):
        seen += 1
        try:
            # The author's own source, as typing.get_type_hints does. A quoted annotation may contain a quoted one, not many.
            annotation = eval(text, {**_NAMES, **namespace}) if seen < 4 else None  # noqa: S307
        except Exception as problem:
            msg = f"cannot read the annotation {text!r}: {problem}; the names in it must exist in the module"
            raise TypeError(msg) from problem
    return annotation


def kind_of(annotation: "Any", namespace: "Mapping[str, Any]") -> "ValueKind":
    """The kind of an annotation; an unsupported one is the author's mistake and raises TypeError."""
    known = common(annotation)
    return known if known is not None else _from_object(evaluate(annotation, namespace), namespace)


def generic(annotation: "Any") -> "tuple[str, tuple[Any, ...]]":
    """Name and arguments of a subscripted type, e.g. ("Iterator", (Hit,)); ("", ()) for a plain one."""
    if type(annotation).__name__ in ("UnionType", "_UnionGenericAlias", "Union"):
        return "Union", annotation.__args__
    if hasattr(annotation, "__metadata__"):  # typing.Annotated: its origin is the annotated type
        return "Annotated", (annotation.__origin__, *annotation.__metadata__)
    origin = getattr(annotation, "__origin__", None)
    if origin is None:
        return "", ()
    name = (
        origin
        if isinstance(origin, str)
        else getattr(origin, "__name__", None) or getattr(origin, "_name", "")
    )
    return str(name), getattr(annotation, "__args__", ())


def _from_object(annotation: "Any", namespace: "Mapping[str, Any]") -> "ValueKind":
    annotation = evaluate(annotation, namespace)  # a quoted name inside a generic
    known = common(annotation)
    if known is not None:
        return known
    name, args = generic(annotation)
    if name in _ARRAYS:
        return ValueKind("array", item=_item(args, namespace))
    if name in ("dict", "Mapping"):
        return ValueKind("object", item=_from_object(args[1], namespace)) if len(args) == 2 else OBJECT
    if name == "Literal":
        return _choice(args)
    if args and name in ("Required", "NotRequired", "ReadOnly"):
        return _from_object(args[0], namespace)
    if args and name == "Annotated":
        return _marked(_from_object(args[0], namespace), args[1:])
    if args and name == "Optional":
        return _from_object(args[0], namespace).or_none()
    if name == "Union":
        return _union(args, namespace)
    return _from_class(annotation, namespace)


def _from_class(annotation: "Any", namespace: "Mapping[str, Any]") -> "ValueKind":
    if getattr(annotation, "__module__", "") == "typing" and getattr(annotation, "__name__", "") == "Any":
        return ANY
    named = getattr(annotation, "__supertype__", None) or getattr(annotation, "__value__", None)
    if named is not None:  # typing.NewType, and the `type` statement of Python 3.12
        return _from_object(named, namespace)
    if isinstance(annotation, type):
        if hasattr(annotation, "__fields__"):
            return ValueKind("record", model=annotation)
        if hasattr(annotation, "__fspath__"):
            return ValueKind("string", model=annotation)
        found = _from_table(annotation)
        if found is not None:
            return found
    msg = f"unsupported annotation {_named(annotation)}: {SUPPORTED}"
    raise TypeError(msg)


SUPPORTED = (
    "use str, int, float, bool, bytes, Path, Decimal, UUID, date, datetime, time, timedelta, an Enum, Literal[...], "
    "list[...], dict[str, ...], a Record, a dataclass, a TypedDict, or one of them `| None`"
)


def _from_table(annotation: "type[Any]") -> "ValueKind | None":
    """A class that is not ours: a row of the table of types, an Enum, a dataclass or a TypedDict."""
    from operable.tool.values.scalars import enum_choices, is_enum, scalar_of

    row = scalar_of(annotation)
    if row is not None:
        return ValueKind("string", form=row)
    if is_enum(annotation):
        return ValueKind("choice", choices=enum_choices(annotation), model=annotation)
    if hasattr(annotation, "__dataclass_fields__") or hasattr(annotation, "__required_keys__"):
        return ValueKind("record", model=_stand_in(annotation))
    return None


_stand_ins: "dict[type[Any], type[Any]]" = {}


def _stand_in(source: "Any") -> "type[Any]":
    """A class with the fields of a dataclass or a TypedDict, in the form of a Record; never made into a value.

    Its `__source__` is what values become. Annotations stay as they are until the fields are read, because a class may
    contain itself.
    """
    if source not in _stand_ins:
        rows = hasattr(source, "__required_keys__")
        fields = _dictionary_fields(source) if rows else _dataclass_fields(source)
        generated = str(source.__doc__).startswith(f"{source.__name__}(")
        body = {
            "__annotations__": {name: annotation for name, (annotation, _) in fields.items()},
            "__doc__": None if generated else source.__doc__,
            # Any default but None, which would promise nulls.
            "__fields__": {name: REQUIRED if required else ... for name, (_, required) in fields.items()},
            "__module__": source.__module__,
            "__source__": source,
            "__wire_names__": {name: name for name in fields},
            "_typed": False,
        }
        _stand_ins[source] = type(source.__name__, (), body)
    return _stand_ins[source]


def _dataclass_fields(source: "Any") -> "dict[str, tuple[Any, bool]]":
    from operable.tool.values.scalars import dataclass_names

    missing, names = sys.modules["dataclasses"].MISSING, dataclass_names(source)
    found: dict[str, tuple[Any, bool]] = {}
    for owner in reversed(source.__mro__):
        annotations = owner.__dict__.get("__annotations__") or getattr(owner, "__annotations__", {})
        namespace = getattr(sys.modules.get(owner.__module__), "__dict__", {})
        for name in annotations:
            if name in names:
                field = source.__dataclass_fields__[name]
                required = field.default is missing and field.default_factory is missing
                found[name] = (_Unread(annotations[name], namespace), required)
    return found


def _dictionary_fields(source: "Any") -> "dict[str, tuple[Any, bool]]":
    # A quoted `NotRequired[…]` (`from __future__ import annotations`) is not read by `typing` itself.
    texts = {
        name: str(getattr(each, "__forward_arg__", each)) for name, each in source.__annotations__.items()
    }
    return {
        name: (annotation, name in source.__required_keys__ and "NotRequired[" not in texts[name])
        for name, annotation in source.__annotations__.items()
    }


class _Unread:
    """An annotation with the module that it is read in."""

    __slots__ = ("_annotation", "_namespace")

    def __init__(self, annotation: "Any", namespace: "dict[str, Any]") -> None:
        self._annotation = annotation
        self._namespace = namespace

    @property
    def __value__(self) -> "Any":
        return evaluate(self._annotation, self._namespace)


def _named(annotation: "Any") -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else repr(annotation)


def _marked(kind: "ValueKind", markers: "tuple[Any, ...]") -> "ValueKind":
    """The kind with what `Annotated` says of it; markers that are not known here are for others."""
    from operable.tool.values.markers import Arg, read_marker

    for marker in markers:
        if isinstance(marker, Arg):
            kind = kind.but(arg=marker)
        elif (must := read_marker(marker)) is not None:
            kind = kind.but(must=must)
    return kind


def _item(args: "tuple[Any, ...]", namespace: "Mapping[str, Any]") -> "ValueKind":
    """The kind of the items; those of a `tuple[int, str]` are of any of its kinds."""
    kinds = tuple(_from_object(arg, namespace) for arg in args if arg is not ...)
    if not kinds:
        return ANY
    return kinds[0] if all(arg in (args[0], ...) for arg in args) else ValueKind("union", options=kinds)


def _choice(args: "tuple[Any, ...]") -> "ValueKind":
    """`Literal["a", None]` is the choice of "a", or nothing."""
    choices = tuple(arg for arg in args if arg is not None)
    return ValueKind("choice", nullable=len(choices) < len(args), choices=choices)


def _union(args: "tuple[Any, ...]", namespace: "Mapping[str, Any]") -> "ValueKind":
    kinds = [_from_object(arg, namespace) for arg in args]
    nullable = any(kind.nullable or kind.base == "null" for kind in kinds)
    options: list[ValueKind] = []
    for kind in kinds:
        options.extend(kind.options if kind.base == "union" else () if kind.base == "null" else (kind,))
    if len(options) == 1:
        return options[0].or_none() if nullable else options[0]
    return ValueKind("union", nullable=nullable, options=tuple(options))


_kinds: "dict[type[Any], dict[str, ValueKind]]" = {}


def field_kinds(cls: "type[Any]") -> "dict[str, ValueKind]":
    """The kind of each field, its annotation read in the module of the class that declares it."""
    if cls in _kinds:
        return _kinds[cls]
    found: dict[str, ValueKind] = {}
    for owner in reversed(cls.__mro__):
        annotations = owner.__dict__.get("__annotations__") or getattr(owner, "__annotations__", {})
        namespace = getattr(sys.modules.get(owner.__module__), "__dict__", {})
        for field, annotation in annotations.items():
            if field in cls.__fields__ and not is_class_variable(annotation):
                kind = kind_of(annotation, namespace)
                # `title: str = None` promises a null as clearly as `str | None` does.
                found[field] = kind if cls.__fields__[field] is not None else kind.or_none()
    _kinds[cls] = found
    return found
