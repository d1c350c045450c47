"""Records: what an author declares is what `json.loads` reads back, before and after code is generated for the class."""

import copy
import enum
import json
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.tool.annotations import field_kinds
from operable.tool.encoders import generate
from operable.tool.records import MANY, Event, Input, Record, snake_case, wire_bytes
from tests.requirement import requirement


class Author(Record):
    name: str
    age: int | None = None


class Tag(Event):
    text: str


class Everything(Event):
    """One field of each kind that has an encoder of its own."""

    text: str
    whole: int
    number: float
    flag: bool
    maybe_text: str | None = None
    maybe_whole: int | None = None
    maybe_number: float | None = None
    maybe_flag: bool | None = None
    words: list[str] = []  # noqa: RUF012 - a record copies its defaults
    authors: list[Author] = []  # noqa: RUF012
    author: Author | None = None
    anything: Any = None
    choice: Literal["a", "b"] = "a"
    table: dict[str, int] = {}  # noqa: RUF012
    either: int | str = 0


class Twin(Everything, type="everything"):
    """The same fields; the one of the two for which code is generated."""


generate(Twin)
META: Any = type(Event)
BOTH: list[Any] = [Everything, Twin]

# Lone surrogates, controls, separators that some readers take for line ends, DEL and C1, quotes, braces, format marks.
AWKWARD = st.sampled_from(
    [
        *("\x00", "\x1f", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ufeff", "\ud800", "\udcff"),
        *(
            '"',
            "\\",
            "{",
            "}",
            "{x_text}",
            "'''",
            "\\u0041",
            "%s",
            "\N{GRINNING FACE}",
            "</script>",
            "\r\n",
            "",
        ),
    ]
)
TEXT = st.text(st.characters() | AWKWARD.filter(lambda c: len(c) == 1), max_size=30) | AWKWARD
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**100, max_value=10**101)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
AUTHORS = st.builds(Author, name=SCALARS, age=SCALARS)


@given(
    st.fixed_dictionaries({field: VALUES | AUTHORS | st.lists(AUTHORS) for field in Everything.__fields__})
)
def test_any_values_even_of_wrong_types_are_read_back_as_they_were_put_in(values):
    expected = {"type": "everything", **{name: _plain(value) for name, value in values.items()}}

    for cls in BOTH:
        text = cls(**values).to_json()
        assert "\n" not in text
        assert json.loads(text) == expected


@given(
    st.fixed_dictionaries(
        {
            "text": TEXT,
            "whole": st.integers(),
            "number": st.floats(allow_nan=False, allow_infinity=False),
            "flag": st.booleans(),
            "maybe_text": st.none() | TEXT,
            "authors": st.lists(AUTHORS),
        }
    )
)
def test_general_and_generated_code_write_the_same_text(values):
    assert Everything(**values).to_json() == Twin(**values).to_json()
    assert json.loads(wire_bytes(Twin(**values).to_json()))["whole"] == values["whole"]


@pytest.mark.parametrize(
    "authors",
    [None, "", "ab", {}, {"a": 1}, 5, (), (Author(name="a"),), [1], [Author(name="a"), {"name": "b"}, None]],
)
def test_what_is_no_list_of_records_is_written_as_what_it_is(authors):
    texts = {cls(text="", whole=1, number=1.0, flag=True, authors=authors).to_json() for cls in BOTH}

    assert len(texts) == 1
    (text,) = texts
    assert json.loads(text)["authors"] == _plain(list(authors) if isinstance(authors, tuple) else authors)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return {name: _plain(inner) for name, inner in value.to_dict().items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("field", ["number", "maybe_number", "text", "words", "anything"])
def test_a_number_that_json_has_not_is_refused_and_never_written(cls, value, field):
    event = cls(text="", whole=1, number=1.0, flag=True)
    setattr(event, field, value)

    with pytest.raises(ValueError, match=r"not JSON"):
        event.to_json()


@pytest.mark.parametrize("cls", BOTH)
def test_a_value_that_json_has_not_is_refused_by_the_name_of_its_type(cls):
    with pytest.raises(TypeError, match="complex is not a JSON value"):
        cls(text="", whole=1, number=1.0, flag=True, anything=1j).to_json()


def test_members_of_enumerations_paths_and_times_are_written_as_what_they_stand_for():
    class Colour(str, enum.Enum):  # noqa: UP042 - its str() is "Colour.RED"
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    values = {
        "text": Colour.RED,
        "whole": Level.HIGH,
        "number": 1,
        "flag": True,
        "anything": [Path("/tmp/a"), datetime(2026, 1, 2, tzinfo=UTC), {Colour.RED: {3, 1, 2}}, (1, 2)],
    }

    for cls in BOTH:
        read = json.loads(cls(**values).to_json())
        assert (read["text"], read["whole"]) == ("red", 3)
        assert read["anything"] == ["/tmp/a", "2026-01-02T00:00:00+00:00", {"red": [1, 2, 3]}, [1, 2]]


def test_fields_are_keywords_with_defaults_and_a_wrong_set_of_them_is_refused():
    for cls in (_fresh_class(), generated(_fresh_class())):
        assert cls(name="x") == cls(name="x", tags=[])
        assert cls(name="x") != cls(name="y")
        assert repr(cls(name="x")) == "Note(name='x', tags=[])"
        with pytest.raises(TypeError, match="name"):
            cls()
        with pytest.raises(TypeError, match="colour"):
            cls(name="x", colour="red")
        with pytest.raises(TypeError):
            cls("x")
        with pytest.raises(AttributeError):
            cls(name="x").colour = "red"
        with pytest.raises(TypeError, match="unhashable"):
            hash(cls(name="x"))


def _fresh_class() -> Any:
    class Note(Record):
        name: str
        tags: list[str] = []  # noqa: RUF012

    return Note


def generated(cls: Any) -> Any:
    generate(cls)
    return cls


def test_a_default_list_is_not_shared_between_instances():
    for cls in (_fresh_class(), generated(_fresh_class())):
        cls(name="x").tags.append("mine")
        assert cls(name="y").tags == []


def test_code_is_generated_once_there_are_many_instances_and_nothing_else_changes():
    cls = _fresh_class()
    texts = {cls(name="x").to_json() for _ in range(MANY)}
    assert "to_json" not in cls.__dict__

    texts |= {cls(name="x").to_json() for _ in range(MANY)}

    assert "to_json" in cls.__dict__
    assert texts == {'{"name":"x","tags":[]}'}


@pytest.mark.parametrize("first", ["base", "sub"])
def test_a_subclass_has_the_fields_of_its_base_and_its_own_whichever_was_generated_first(first):
    class Base(Event):
        x: int

    class Sub(Base):
        y: int = 2

    generate(Base if first == "base" else Sub)

    class Late(Base):
        x = 7
        z: int

    late: Any = Late

    assert Sub(x=1).to_json() == '{"type":"sub","x":1,"y":2}'
    assert late(z=3).to_json() == '{"type":"late","x":7,"z":3}'
    assert Base(x=1).to_json() == '{"type":"base","x":1}'
    generate(Late)
    assert late(z=3).to_json() == '{"type":"late","x":7,"z":3}'


def test_a_nested_event_keeps_its_type_in_every_place():
    class Post(Record):
        tag: Tag
        tags: list[Tag]

    post = Post(tag=Tag(text="a"), tags=[Tag(text="b")])
    expected = {"tag": {"type": "tag", "text": "a"}, "tags": [{"type": "tag", "text": "b"}]}

    assert json.loads(post.to_json()) == expected
    generate(Post)
    assert json.loads(post.to_json()) == expected


# Names that generated code could use itself, words of Python, and names of methods elsewhere.
NAMES = "self q v a copy fresh d_copy default_x x x_x quoted encoded array match case _ _x cls values from_ class_ items"


def test_fields_may_have_any_name_that_is_not_taken():
    defaults: dict[str, Any] = {"copy": [], "x": [1], "fresh": []}
    body = {"__annotations__": dict.fromkeys(NAMES.split(), "list"), "__module__": __name__, **defaults}
    cls: Any = META("Odd", (Event,), body)
    required = {name: [name] for name in NAMES.split() if name not in defaults}
    expected = {
        "type": "odd",
        **{name.rstrip("_") or name: value for name, value in required.items()},
        **defaults,
    }

    assert json.loads(cls(**required).to_json()) == expected
    generate(cls)
    assert json.loads(cls(**required).to_json()) == expected


@pytest.mark.parametrize(
    "field", ["to_json", "to_dict", "wire_type", "accepted_types", "_typed", "__fields__"]
)
def test_a_field_that_would_hide_a_part_of_the_class_is_refused_when_the_class_is_made(field):
    with pytest.raises(TypeError, match="cannot have a field"):
        META("Bad", (Event,), {"__annotations__": {field: "str"}, "__module__": __name__})


def test_two_fields_with_one_name_in_json_are_refused():
    with pytest.raises(TypeError, match="twice"):

        class Bad(Record):
            id: str
            id_: str

    with pytest.raises(TypeError, match="twice"):

        class Worse(Event):
            type: str

    with pytest.raises(TypeError, match="twice"):

        class Worst(Event):
            type_: str


def test_methods_that_are_made_from_the_fields_cannot_be_written_by_hand():
    with pytest.raises(TypeError, match="made from the fields"):

        class Bad(Record):
            id: str

            def __init__(self) -> None:
                """Would never run for a generated class."""


def test_a_record_may_have_methods_properties_and_class_variables_of_its_own():
    class Note(Event):
        limit: ClassVar[int] = 3
        title: str

        @property
        def short(self) -> str:
            return self.title[: self.limit]

    assert Note(title="abcdef").short == "abc"
    assert Note(title="a").to_json() == '{"type":"note","title":"a"}'


def test_a_nested_record_may_have_a_field_called_type_because_it_has_no_discriminator():
    class Link(Record):
        type: str

    assert Link(type="web").to_json() == '{"type":"web"}'


def test_an_input_knows_its_line_and_can_still_read_a_field_of_that_name():
    class Match(Input, type="match"):
        text: str
        line_number_: int = 0

    item: Any = Match(text="a", line_number_=4)
    item.line_number = 17

    assert (item.line_number, item.to_dict()) == (17, {"text": "a", "line_number": 4})
    with pytest.raises(TypeError, match="line_number"):

        class Bad(Input):
            line_number: int


@requirement("aoi:8.3:match")
def test_an_event_may_have_the_fields_that_are_recommended_for_matches():
    class Match(Event):
        path: str
        line_number: int
        column: int
        text: str
        submatches: list[dict[str, Any]]

    event = Match(path="a", line_number=1, column=2, text="t", submatches=[{"start": 1}])

    assert json.loads(event.to_json())["line_number"] == 1


@pytest.mark.parametrize(
    ("name", "wire_type"),
    [
        *(("Hit", "hit"), ("SearchHit", "search_hit"), ("HTTPError", "http_error"), ("Hit2", "hit2")),
        *(("ABTest", "ab_test"), ("_Hidden", "_hidden"), ("Already_Snake", "already_snake"), ("IO", "io")),
    ],
)
def test_the_wire_type_is_the_class_name_in_snake_case(name, wire_type):
    assert snake_case(name) == wire_type
    assert META(name, (Event,), {"__module__": __name__}).wire_type == wire_type


@pytest.mark.parametrize(
    "name", ['a"b', "a{b}", "a'''b", "a\\b", "a\nb", "a b", "é", "a/b", "a~b", "\ud800", "-", " "]
)
def test_a_wire_type_that_is_no_plain_name_is_refused(name):
    with pytest.raises(TypeError, match="not a name for an event type"):

        class Bad(Event, type=name):
            x: int


def test_an_input_names_the_upstream_types_it_takes():
    class Found(Input, type="hit match"):
        id: str

    class Whatever(Input):
        id: str

    assert Found.accepted_types == ("hit", "match")
    assert Whatever.accepted_types == ()


def test_the_kinds_of_fields_are_read_once_and_where_the_class_was_written():
    assert field_kinds(Everything) is field_kinds(Everything)
    assert repr(field_kinds(Twin)["authors"]) == "array[record]"
    module = type(sys)("elsewhere")
    exec("from operable.tool import Record\nclass Far(Record):\n    x: 'int'\n", module.__dict__)
    assert repr(field_kinds(module.Far)) == "{'x': integer}"


def test_records_can_be_copied_and_pickled():
    author = Author(name="x", age=3)

    assert copy.deepcopy(author) == author
    assert pickle.loads(pickle.dumps(author)) == author


def test_matching_by_position_follows_the_fields():
    match Author(name="x", age=3):
        case Author(name, age):  # type: ignore[misc] # mypy does not know our __match_args__
            assert (name, age) == ("x", 3)


def test_declaring_and_encoding_few_records_compiles_and_imports_nothing():
    program = (
        "from operable.tool.records import Event\n"
        "import sys, builtins\n"
        "before = set(sys.modules)\n"
        "builtins.exec = builtins.eval = builtins.compile = None\n"
        "class Hit(Event):\n    rank: int\n    title: str = ''\n    maybe: 'float | None' = None\n"
        'assert Hit(rank=1).to_json() == \'{"type":"hit","rank":1,"title":"","maybe":null}\'\n'
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=200, check=True
    )

    assert done.stdout == "[]\n"
