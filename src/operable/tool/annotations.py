"""What an annotation means that is not one of the common types: generics, unions, choices, records.

Theory of operation: strings are evaluated in the author's module with stand-ins for the few names of `typing` that matter,
so that neither the author nor we import `typing` (8 ms, more than half an interpreter start). The author's own names come
first. Objects of the real `typing` are understood through their attributes, again without importing it.
"""

import sys

from operable.tool.kinds import ANY, OBJECT, ValueKind, common, is_class_variable

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
        return "Annotated", (annotation.__origin__,)
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
        return OBJECT
    if name == "Literal":
        return _choice(args)
    if args and name in ("Annotated", "Required", "NotRequired", "ReadOnly"):
        return _from_object(args[0], namespace)
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
    msg = f"unsupported annotation {annotation!r}: use str, int, float, bool, list[...], Literal[...], a Record or `| None`"
    raise TypeError(msg)


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
