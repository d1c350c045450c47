"""Tuples with named fields, for the modules that a short call loads.

A class that inherits from `NamedTuple` here is what one of `typing` is: fields from its annotations, in their order, with
defaults; `_fields`, `_replace`, `_asdict`, pattern matching, equality and hash of a tuple. Loading `typing` costs a quarter
of an interpreter's start, and each class of it compiles a function of its own. Here one `__new__` serves all classes.

Type checkers read the class of `typing`, whose rules are the same:

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from operable.kernel.named_tuple import NamedTuple

A tuple is made about three times as slowly. What is made for every line of a stream uses `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


class _FromAnnotations(type):
    """Turns the annotations of a class body into fields."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _FromAnnotations:
        annotations = body.get("__annotations__", {})
        if not annotations and "__annotate_func__" in body:  # Python 3.14 evaluates annotations on demand
            annotations = body["__annotate_func__"](1)
        fields = tuple(annotations)
        body["_field_defaults"] = defaults = {field: body.pop(field) for field in fields if field in body}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name}: a field without a default follows one with a default")
        body |= {"__slots__": (), "_fields": fields, "__match_args__": fields}
        body |= {field: property(_getter(index)) for index, field in enumerate(fields)}
        return super().__new__(cls, name, bases, body)


def _getter(index: int) -> Any:
    return lambda row: row[index]


class NamedTuple(tuple[object, ...], metaclass=_FromAnnotations):
    """The base of the classes."""

    __slots__ = ()

    if TYPE_CHECKING:
        _fields: tuple[str, ...]
        _field_defaults: dict[str, Any]

    def __new__(cls, *values: Any, **named: Any) -> Self:
        fields = cls._fields
        if named or len(values) != len(fields):
            values = _completed(cls, values, named)
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({shown})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **named: Any) -> Self:
        return type(self)(**{**self._asdict(), **named})


def _completed(cls: type[NamedTuple], values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The values of all fields, in their order; TypeError as for any function."""
    fields = cls._fields
    if len(values) > len(fields):
        raise TypeError(f"{cls.__name__}() takes {len(fields)} values, and {len(values)} were given")
    found = dict(zip(fields, values, strict=False))
    for name, value in named.items():
        if name in found or name not in fields:
            what = "got two values for" if name in found else "has no field"
            raise TypeError(f"{cls.__name__}() {what} {name!r}")
        found[name] = value
    every = {**cls._field_defaults, **found}
    missing = [field for field in fields if field not in every]
    if missing:
        raise TypeError(f"{cls.__name__}() needs {', '.join(missing)}")
    return tuple(every[field] for field in fields)
