"""Annotations, however they are written, mean one thing to parsing, schemas and validation."""

import collections.abc
import subprocess
import sys
import typing
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NewType, Optional, Union

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operable.tool.annotations import evaluate, generic, kind_of
from operable.tool.kinds import ValueKind
from operable.tool.records import Record


class Author(Record):
    name: str


NoteId = NewType("NoteId", str)

# The same annotation as source text, for a module that imports nothing, and as the object of a module that does.
SPELLINGS: list[tuple[str, Any, str]] = [
    ("str", str, "string"),
    ("int", int, "integer"),
    ("float", float, "number"),
    ("bool", bool, "boolean"),
    ("Any", Any, "any"),
    ("object", object, "any"),
    ("None", None, "null"),
    ("str | None", str | None, "string?"),
    ("None | int", None | int, "integer?"),
    ("Optional[float]", Optional[float], "number?"),  # noqa: UP045 - authors write it
    ("Union[int, None]", Union[int, None], "integer?"),  # noqa: UP007
    ("list", list, "array[any]"),
    ("list[str]", list[str], "array[string]"),
    ("list[int] | None", list[int] | None, "array[integer]?"),
    ("typing.List[str]", typing.List[str], "array[string]"),  # noqa: UP006
    ("Sequence[int]", collections.abc.Sequence[int], "array[integer]"),
    ("tuple[int, ...]", tuple[int, ...], "array[integer]"),
    ("tuple[float, float]", tuple[float, float], "array[number]"),
    ("tuple[int, str]", tuple[int, str], "array[union]"),
    ("tuple", tuple, "array[any]"),
    ("set[str]", set[str], "array[string]"),
    ("frozenset", frozenset, "array[any]"),
    ("dict", dict, "object"),
    ("dict[str, int]", dict[str, int], "object[integer]"),
    ("Literal['a', 'b']", Literal["a", "b"], "choice['a', 'b']"),
    ("Literal[1, 2] | None", Literal[1, 2] | None, "choice[1, 2]?"),
    ("None | Literal['a']", None | Literal["a"], "choice['a']?"),
    ("Literal['a', None]", Literal["a", None], "choice['a']?"),  # noqa: PYI061
    ("list[Literal['a']]", list[Literal["a"]], "array[choice['a']]"),
    ("Annotated[int, 'pages']", Annotated[int, "pages"], "integer"),
    ("Annotated[list[str], []]", Annotated[list[str], []], "array[string]"),
    ("Annotated[str | None, {}]", Annotated[str | None, {}], "string?"),
    ("int | str", int | str, "union"),
    ("int | str | None | Literal['x']", int | str | None | Literal["x"], "union?"),  # noqa: PYI051
    ("list[str] | Literal['x']", list[str] | Literal["x"], "union"),
    ("Author", Author, "record"),
    ("Author | None", Author | None, "record?"),
    ("list[Author]", list[Author], "array[record]"),
    ("NoteId", NoteId, "string"),
    ("Path", Path, "string"),
    ("Path | None", Path | None, "string?"),
]


@pytest.mark.parametrize(("text", "thing", "meaning"), SPELLINGS, ids=[text for text, _, _ in SPELLINGS])
def test_text_and_object_of_an_annotation_mean_the_same(text, thing, meaning):
    names = {"Author": Author, "NoteId": NoteId, "Path": Path, "typing": typing}

    assert repr(kind_of(text, names)) == meaning
    assert repr(kind_of(thing, {})) == meaning
    assert repr(kind_of(f"Annotated[{text}, 1]", names)) == meaning


def test_text_of_annotations_is_read_with_the_real_typing_objects_of_the_author_too():
    names = {**vars(typing), "Author": Author}

    assert repr(kind_of("Literal['a'] | None", names)) == "choice['a']?"
    assert repr(kind_of("Optional[list[Any]]", names)) == "array[any]?"
    assert repr(kind_of("Annotated[Union[int, str], 1]", names)) == "union"


def test_quoted_names_inside_annotations_are_looked_up():
    names = {"Author": Author}

    assert kind_of("'Author'", names).model is Author
    assert kind_of("list['Author']", names).item.model is Author  # type: ignore[union-attr]
    assert kind_of(list["Author"], names).item.model is Author  # type: ignore[union-attr]
    assert kind_of(typing.List["Author"], names).item.model is Author  # type: ignore[union-attr]  # noqa: UP006
    assert kind_of(Optional["Author"], names).model is Author
    assert repr(kind_of("list['str | None']", names)) == "array[string?]"


def test_the_names_of_the_author_win_over_the_stand_ins_for_typing():
    class Sequence(Record):
        text: str

    assert kind_of("Sequence", {"Sequence": Sequence}).model is Sequence


def test_paths_of_any_class_are_strings_that_remember_their_class():
    for path_class in (Path, PurePosixPath):
        kind = kind_of(path_class | None, {})
        assert (kind.base, kind.model, kind.nullable) == ("string", path_class, True)
    assert kind_of(PathLike, {}).base == "string"


def test_a_nested_nothing_makes_the_whole_union_nullable():
    kind = kind_of("Union[Optional[int], str]", {})

    assert kind.nullable
    assert [option.base for option in kind.options] == ["integer", "string"]


@pytest.mark.parametrize(
    "annotation", [complex, type, int | range, list[range], "range", "list[range]", 5, ..., lambda: 1]
)
def test_an_annotation_that_cannot_be_served_is_refused_by_name(annotation):
    with pytest.raises(TypeError, match="unsupported annotation"):
        kind_of(annotation, {})


@pytest.mark.parametrize("text", ["Unknown", "list[Unknown]", "1 +", "", "'Unknown'", "import os", "f()[0]"])
def test_an_annotation_that_cannot_be_read_says_what_is_wrong_with_it(text):
    with pytest.raises(TypeError, match="cannot read the annotation"):
        kind_of(text, {})


@given(st.text(max_size=30) | st.sampled_from(["list[" * 50, "'" * 9, "\0", "(" * 200, "lambda: 0"]))
@example("Annotated")
@example("Optional")
def test_no_text_breaks_the_reading_of_annotations_in_another_way(text):
    try:
        assert isinstance(kind_of(text, {"__builtins__": {}}), ValueKind)
    except TypeError as refusal:
        assert "annotation" in str(refusal)  # noqa: PT017 - either outcome is right


def test_what_an_annotation_of_results_promises_can_be_taken_apart():
    assert generic(evaluate("Iterator[Author]", {"Author": Author})) == ("Iterator", (Author,))
    assert generic(collections.abc.AsyncIterator[Author]) == ("AsyncIterator", (Author,))
    assert generic(typing.Iterator[Author])[1] == (Author,)
    assert generic(evaluate("Author", {"Author": Author})) == ("", ())


def test_reading_annotations_never_imports_typing():
    program = (
        "from operable.tool.annotations import kind_of\n"
        "for text in ('str', \"Literal['a'] | None\", 'list[dict[str, Any]]', 'Optional[Union[int, str]]'):\n"
        "    kind_of(text, {})\n"
        "import sys; print('typing' in sys.modules or 're' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=200, check=True
    )

    assert done.stdout == "False\n"
