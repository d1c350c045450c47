"""`kernel.named_tuple`: the same class as `typing.NamedTuple` makes, without loading `typing`."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing

import pytest

from operable.kernel import named_tuple


class _Ours(named_tuple.NamedTuple):
    """A place."""

    path: str
    line: int = 1
    note: str | None = None

    @property
    def shown(self) -> str:
        return f"{self.path}:{self.line}"


class Theirs(typing.NamedTuple):
    """A place."""

    path: str
    line: int = 1
    note: str | None = None

    @property
    def shown(self) -> str:
        return f"{self.path}:{self.line}"


Ours: typing.Any = _Ours  # a type checker reads the class of `typing` instead

WAYS: list[tuple[tuple[typing.Any, ...], dict[str, typing.Any]]] = [
    (("a",), {}),
    (("a", 2), {}),
    (("a", 2, "n"), {}),
    (("a",), {"note": "n"}),
    ((), {"note": "n", "path": "a"}),
]
MISTAKES: list[tuple[tuple[typing.Any, ...], dict[str, typing.Any]]] = [
    ((), {}),
    (("a", 1, "n", 4), {}),
    (("a",), {"path": "b"}),
    (("a",), {"width": 3}),
    ((), {"line": 3}),
]


@pytest.mark.parametrize(("values", "named"), WAYS)
def test_a_row_is_made_read_and_changed_as_one_of_typing(values, named):
    ours, theirs = Ours(*values, **named), Theirs(*values, **named)

    assert tuple(ours) == tuple(theirs)
    assert (ours.path, ours.line, ours.note) == (theirs.path, theirs.line, theirs.note)
    assert ours._asdict() == theirs._asdict()
    assert repr(ours) == repr(theirs).replace("Theirs", "_Ours")
    assert tuple(ours._replace(line=9)) == tuple(theirs._replace(line=9))
    assert ours == theirs
    assert hash(ours) == hash(theirs)
    assert ours.shown == theirs.shown


@pytest.mark.parametrize(("values", "named"), MISTAKES)
def test_what_typing_refuses_is_refused(values, named):
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_an_unknown_field_is_not_replaced():
    with pytest.raises(TypeError, match="width"):
        Ours("a")._replace(width=3)


def test_a_field_cannot_be_assigned():
    with pytest.raises(AttributeError):
        Ours("a").line = 2


def test_a_field_without_a_default_behind_one_with_a_default_is_refused():
    metaclass: typing.Any = type(named_tuple.NamedTuple)

    with pytest.raises(TypeError, match="follows one with a default"):
        metaclass("Wrong", (named_tuple.NamedTuple,), {"__annotations__": {"a": int, "b": int}, "a": 1})


def test_a_row_has_fields_for_matching_and_a_docstring():
    assert Ours._fields == Ours.__match_args__ == Theirs._fields
    assert Ours.__doc__ == "A place."
    match Ours("a", 2):
        case Ours(path, line):
            assert (path, line) == ("a", 2)


def test_a_row_survives_copying_and_pickling():
    row = Ours("a", 2, "n")

    for again in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert again == row
        assert type(again) is Ours


def test_it_loads_neither_typing_nor_collections():
    program = (
        "import sys, operable.kernel.named_tuple; print({'typing', 'collections', 're'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, timeout=60, check=True)

    assert done.stdout.strip() == b"set()"
