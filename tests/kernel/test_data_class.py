"""Dataclasses that compile nothing when they are declared, beside those of the standard library."""

import copy
import dataclasses
import pickle
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from operable.kernel.data_class import dataclass

OPTIONS = [{}, {"slots": True}, {"frozen": True}, {"frozen": True, "slots": True}]
Decorator = Callable[..., Any]


def point(decorate: Decorator, options: dict[str, bool]) -> Any:
    @decorate(**options)
    class Point:
        """A place."""

        x: int
        y: int = 0
        tags: list[str] = field(default_factory=list)
        secret: str = field(default="s", repr=False)
        note: str = field(default="", compare=False)
        marks: list[int] = field(default_factory=list, init=False)

    return Point


def outcome(make: Callable[[], object]) -> object:
    """The value, or the type and text of the error."""
    try:
        return make()
    except (TypeError, FrozenInstanceError) as error:
        return type(error), str(error)


CALLS: dict[str, Callable[[Any], object]] = {
    "repr": lambda kind: repr(kind(1, tags=["a"], secret="t", note="n")),
    "defaults are fresh": lambda kind: kind(1).tags is not kind(1).tags,
    "equal": lambda kind: (kind(1) == kind(1, note="other"), kind(1) == kind(2), kind(1) == 1),
    "hash": lambda kind: hash(kind(1, tags=(), secret="")) == hash(kind(1, tags=(), secret="")),
    "missing": lambda kind: kind(),
    "too many": lambda kind: kind(1, 2, [], "", "", []),
    "unknown": lambda kind: kind(1, z=1),
    "twice": lambda kind: kind(1, x=1),
    "names": lambda kind: [each.name for each in fields(kind)],
    "replaced": lambda kind: repr(replace(kind(1, note="n"), y=5)),
    "as a mapping": lambda kind: asdict(kind(1)),
    "matched by place": lambda kind: kind.__match_args__,
    "copied": lambda kind: copy.copy(kind(1, note="n")).note,
    "copied deeply": lambda kind: repr(copy.deepcopy(kind(1, tags=["a"]))),
    "a field is set": lambda kind: setattr(kind(1), "x", 2),
    "a field is deleted": lambda kind: delattr(kind(1), "x"),
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_a_class_is_what_the_standard_library_makes_of_it(options, call):
    ours, theirs = point(dataclass, options), point(dataclasses.dataclass, options)

    expected = outcome(lambda: CALLS[call](theirs))

    assert outcome(lambda: CALLS[call](ours)) == expected  # by the constructor that is not compiled yet
    assert outcome(lambda: CALLS[call](ours)) == expected


@dataclass(frozen=True, slots=True)
class Kept:
    """Found by pickle under its name."""

    value: int


def test_a_frozen_instance_survives_pickle():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_a_frozen_instance_gets_no_other_attribute():
    with pytest.raises(FrozenInstanceError, match="'other'"):
        Kept(3).other = 1  # type: ignore[attr-defined]


def test_methods_of_the_author_stay():
    @dataclass(frozen=True, slots=True)
    class Word:
        """A word in any case."""

        text: str

        def __repr__(self) -> str:
            return f"<{self.text}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Word) and other.text.lower() == self.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

    assert {Word("A"), Word("a")} == {Word("A")}
    assert repr(Word("A")) == "<A>"


def test_an_equality_of_the_author_leaves_the_hash_of_the_fields():
    @dataclass(frozen=True)
    class Word:  # noqa: PLW1641 - its hash is what is tested
        """A word."""

        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Word) and other.text == self.text

    assert len({Word("a"), Word("a")}) == 1


def test_a_class_inherits_fields_and_what_follows_construction():
    @dataclass
    class First:
        """One field."""

        a: int

        def __post_init__(self) -> None:
            self.a += 1

    @dataclass
    class Second(First):
        """Another."""

        b: int = 2

    assert (Second(1), First(1)) == (Second(a=1, b=2), First(a=1))
    assert repr(Second(1)).endswith("Second(a=2, b=2)")


def test_a_plain_subclass_of_a_frozen_class_has_attributes_of_its_own():
    @dataclass(frozen=True)
    class First:
        """One field."""

        a: int

    class Second(First):
        """Not a dataclass."""

    second = Second(1)
    object.__setattr__(second, "own", 1)
    second.other = 2  # type: ignore[attr-defined]

    with pytest.raises(FrozenInstanceError, match="'a'"):
        second.a = 3  # type: ignore[misc]
    assert vars(second) == {"a": 1, "own": 1, "other": 2}


def test_a_value_that_contains_itself_can_be_shown():
    @dataclass
    class Node:
        """A node."""

        next: object = None

    node = Node()
    node.next = node

    assert repr(node).endswith("Node(next=...)")


def test_declaring_compiles_nothing_and_the_first_instance_one_constructor():
    compiled: list[object] = []
    listening = True
    sys.addaudithook(lambda event, _: compiled.append(event) if listening and event == "compile" else None)

    kind = point(dataclass, {"frozen": True, "slots": True})
    declared = len(compiled)
    kind(1)
    kind(2)
    first, listening = len(compiled), False

    assert (declared, first) == (0, 1)
