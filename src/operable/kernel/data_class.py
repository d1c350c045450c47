"""Dataclasses that compile nothing when they are declared.

`dataclass` here is that of the standard library, for the options that we use. Making a class there compiles the text of
up to six methods, a third of a millisecond: of a hundred classes that a session of an agent loads, a quarter of its
start. Here all classes share the methods that they are rarely asked for. The constructor alone is compiled, when the first
instance is made, so instances are made as fast as those of the standard library.

Type checkers read the decorator of `dataclasses`, whose rules are the same; `fields`, `replace` and `asdict` work.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _described
from operator import attrgetter
from reprlib import recursive_repr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field, dataclass
    from typing import Any
else:

    def dataclass(cls: type[Any] | None = None, /, *, frozen: bool = False, slots: bool = False) -> Any:
        """The decorator, with and without parentheses."""

        def make(written: type[Any]) -> type[Any]:
            made = _described(written, init=False, repr=False, eq=False, slots=slots)
            return _with_methods(made, frozen=frozen, slots=slots)

        return make if cls is None else make(cls)


__all__ = ["dataclass"]


def _with_methods(cls: type[Any], *, frozen: bool, slots: bool) -> type[Any]:
    """Add what the author has not written."""
    every: tuple[Field[Any], ...] = fields(cls)
    compared = _reader([field.name for field in every if field.compare])
    methods: dict[str, Any] = {"__init__": _compiled_later(cls, frozen=frozen, slots=slots)}
    methods |= {"__repr__": _repr([field.name for field in every if field.repr]), "__eq__": _eq(compared)}
    hashed = _reader([field.name for field in every if (field.compare if field.hash is None else field.hash)])
    methods["__hash__"] = (lambda self: hash(hashed(self))) if frozen else None
    if frozen:
        methods |= _refusals(cls, frozenset(field.name for field in every))
    if frozen and slots:
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    written = set(cls.__dict__)
    if "__eq__" in written and cls.__dict__["__hash__"] is None:  # which Python has added, not the author
        written.remove("__hash__")
    for name, method in methods.items():
        if name not in written:
            setattr(cls, name, method)
    return cls


def _compiled_later(cls: type[Any], *, frozen: bool, slots: bool) -> Callable[..., None]:
    """A constructor that replaces itself when it is first called."""

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807 - it is one
        made = _constructor(cls, frozen=frozen, slots=slots)
        cls.__init__ = made
        made(self, *values, **named)

    return __init__


def _constructor(cls: type[Any], *, frozen: bool, slots: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_MISSING": MISSING, "_set": object.__setattr__}
    plain: list[str] = []
    keyword: list[str] = []
    lines: list[str] = []
    for field in fields(cls):
        name, value = field.name, field.name
        names[f"_default_{name}"], names[f"_make_{name}"] = field.default, field.default_factory
        has_factory = field.default_factory is not MISSING
        if field.init:
            default = "_MISSING" if has_factory else f"_default_{name}"
            given = name if field.default is MISSING and not has_factory else f"{name}={default}"
            (keyword if field.kw_only else plain).append(given)
            if has_factory:
                value = f"_make_{name}() if {name} is _MISSING else {name}"
        elif has_factory:
            value = f"_make_{name}()"
        elif slots and field.default is not MISSING:
            value = f"_default_{name}"
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *plain, *(["*", *keyword] if keyword else [])])
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({parameters}):\n {body}", names)  # noqa: S102 - of names of fields
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _reader(names: list[str]) -> Callable[[Any], Any]:
    """What reads these fields, as a value that can be compared and hashed."""
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807 - it is one
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _eq(compared: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807 - it is one
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    return __eq__


def _refusals(cls: type[Any], names: frozenset[str]) -> dict[str, Any]:
    """A field is never set or deleted; a subclass may have attributes of its own."""

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - it is one
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 - it is one
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
