"""Structured input: what the strict schema allows is accepted, everything else is refused with all its problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.tool.discovery.schema import input_schema
from operable.tool.kinds import Stream
from operable.tool.records import Input, Record
from operable.tool.tool import Tool
from operable.tool.values.builder import build
from tests.requirement import requirement


class Author(Record):
    name: str
    age: int | None = None


class Note(Input):
    title: str
    n: int = 0
    weight: float = 1.0
    done: bool = False
    tags: list[str] = []  # noqa: RUF012 - a record copies its defaults
    author: Author | None = None
    authors: list[Author] = []  # noqa: RUF012
    state: Literal["open", "closed", 1] = "open"
    either: int | list[str] | None = None
    extra: dict[str, Any] = {}  # noqa: RUF012
    anything: Any = None
    from_: str = ""
    nothing: None = None


class Branch(Input):
    name: str
    branches: list[Branch] = []  # noqa: RUF012


def imports(notes: Stream[Note]) -> None:
    """Take notes."""


def grows(branches: Stream[Branch]) -> None:
    """Take branches."""


tool = Tool("notes", version="1.0", schema_name="com.example.notes")
validator = jsonschema_rs.validator_for(
    input_schema(tool, tool.command("import", mutates=True)(imports), items=True)
)
branch_validator = jsonschema_rs.validator_for(input_schema(tool, tool.command("grow")(grows), items=True))

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.0, 1.5, -0.0, 1e300, "open", "closed", "a", "", 2**70]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "age", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
FIELDS = st.sampled_from([*Note.__wire_names__.values(), "from_", "unknown", "TITLE"])


def problems_of(model: type[Record], data: dict[str, Any]) -> list[str]:
    problems: list[str] = []
    built = build(model, data, problems)
    assert (built is None) == bool(problems)
    return problems


@requirement("aoi:10.3:input-strict", "aoi:12.1:input-schema")
@settings(max_examples=500)
@given(st.dictionaries(FIELDS, VALUES, max_size=5), st.booleans())
def test_the_tool_accepts_exactly_what_its_schema_allows(data, titled):
    if titled:
        data["title"] = "t"

    assert (problems_of(Note, data) == []) == validator.is_valid(data)


TREES = st.recursive(
    st.fixed_dictionaries({"name": st.sampled_from(["a", 1])}),
    lambda inner: st.fixed_dictionaries({"name": st.just("b"), "branches": st.lists(inner, max_size=2)}),
)


@given(TREES)
def test_a_record_that_contains_itself_is_checked_to_its_depth(data):
    assert (problems_of(Branch, data) == []) == branch_validator.is_valid(data)


def test_input_that_nests_deeper_than_the_interpreter_is_refused_not_crashed_on():
    data: dict[str, Any] = {"name": "leaf"}
    for _ in range(5000):
        data = {"name": "a", "branches": [data]}

    assert problems_of(Branch, data) == ["it nests too deep"]


def test_values_arrive_as_the_types_that_were_declared():
    problems: list[str] = []
    data = {"title": "t", "n": 2.0, "weight": 3, "author": {"name": "a"}, "from": "me", "state": 1.0}

    note: Any = build(Note, data, problems)

    assert problems == []
    assert note == Note(title="t", n=2, weight=3, author=Author(name="a"), from_="me", state=1)
    assert type(note.n) is int
    assert type(note.state) is int


def test_a_path_arrives_as_a_path():
    class Upload(Input):
        path: Path
        others: list[Path] = []  # noqa: RUF012

    problems: list[str] = []
    upload: Any = build(Upload, {"path": "/a", "others": ["b"]}, problems)

    assert (upload.path, upload.others) == (Path("/a"), [Path("b")])


def test_every_problem_is_named_at_once_with_its_place():
    data = {"n": "1", "authors": [{"name": "a"}, {"age": "old"}], "tags": ["x", 3], "colour": 1, "taste": 2}

    assert problems_of(Note, data) == [
        "unknown field colour, taste; known are " + ", ".join(Note.__wire_names__.values()),
        "missing field title",
        "n must be a whole number",
        "tags[1] must be a string",
        "missing field authors[1].name",
        "authors[1].age must be a whole number",
    ]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("done", 1, "done must be true or false"),
        ("n", True, "n must be a whole number"),
        ("n", 1.5, "n must be a whole number"),
        ("weight", "1", "weight must be a number"),
        ("weight", False, "weight must be a number"),
        ("title", None, "title must be a string"),
        ("state", "ajar", "state must be one of open, closed, 1"),
        ("state", True, "state must be one of open, closed, 1"),
        ("either", "x", "either has none of the allowed types"),
        ("extra", [], "extra must be an object"),
        ("tags", "x", "tags must be an array"),
        ("author", [], "author must be an object"),
        ("nothing", 0, "nothing must be null"),
    ],
)
def test_each_wrong_type_has_its_sentence(field, value, problem):
    assert problems_of(Note, {"title": "t", field: value}) == [problem]


def test_a_complaint_about_strange_fields_stays_short():
    (problem,) = problems_of(Branch, {"name": "a", **{f"{i}" * 100_000: i for i in range(500)}})

    assert len(problem) < 2000
