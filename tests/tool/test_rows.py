"""Events as plain dictionaries, typed with TypedDict."""

import json
from typing import Literal, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.tool import Tool
from operable.tool.discovery.schema import event_schema
from operable.tool.records import harmless, json_text, utf8
from operable.tool.rows import BULK, batch_encoder, event_of
from tests.tool.drive import run


class Found(TypedDict):
    """One row."""

    type: Literal["found"]
    path: str
    line_number: int
    ok: bool
    where: list[list[int]]
    note: NotRequired[str | None]


class Scored(TypedDict):
    """A row with a fraction in it."""

    score: float


class Renamed(TypedDict):
    """A row whose type is not the name of its class."""

    type: Literal["hit"]


def test_the_type_of_a_row_is_the_one_that_it_declares_or_else_its_name():
    tool = Tool("t", version="1", schema_name="e")
    schema = event_schema(tool, "1.0.0", [event_of(Renamed), event_of(Scored)])

    assert {"hit", "scored"} <= set(schema["$defs"])


def test_a_typed_dict_is_described_like_an_event_class():
    schema = event_schema(
        Tool("t", version="1", schema_name="e"), "1.0.0", [event_of(Found), event_of(Scored)]
    )
    assert schema["$defs"]["found"]["required"] == ["type", "path", "line_number", "ok", "where"]
    assert schema["$defs"]["found"]["properties"]["where"] == {
        "type": "array",
        "items": {"type": "array", "items": {"type": "integer"}},
    }
    assert schema["$defs"]["found"]["description"] == "One row."
    assert schema["$defs"]["scored"]["properties"]["score"] == {"type": "number"}


ROWS = st.fixed_dictionaries(
    {
        "type": st.just("found"),
        "path": st.text(st.characters(), max_size=20),
        "line_number": st.integers(),
        "ok": st.booleans(),
        "where": st.lists(st.lists(st.integers(0, 99), max_size=2), max_size=2),
    },
    optional={"note": st.none() | st.text(max_size=9)},
)


def one_by_one(row):
    return utf8(json_text(row))


@given(st.lists(ROWS, max_size=5))
def test_a_list_has_the_same_lines_as_its_rows(rows):
    data, count = batch_encoder([event_of(Found)], one_by_one)(rows)
    assert count == len(rows)
    assert list(map(json.loads, harmless(data).splitlines())) == [
        json.loads(harmless(one_by_one(row))) for row in rows
    ]


@pytest.mark.parametrize(
    "odd", [{"n": 1}, {"type": "other"}, {"type": []}, {"type": "found", "path": "\ud800"}]
)
def test_a_list_with_anything_odd_in_it_goes_row_by_row(odd):
    asked = []

    def one_by_one(row):
        asked.append(row)
        return b"x"

    encode = batch_encoder([event_of(Found)], one_by_one)
    assert encode([{"type": "found"}, odd]) == (b"x\nx", 2)
    assert asked == [{"type": "found"}, odd]


def test_rows_with_fractions_are_never_left_to_msgspec_which_would_make_null_of_a_nan():
    encode = batch_encoder([event_of(Scored)], lambda row: None)
    assert encode([{"type": "scored", "score": float("nan")}]) == (b"", 0)


def test_a_long_stream_is_the_same_stream_before_and_after_the_encoder_changes(tmp_path):
    """Whatever is in it: rows that are declared, that are not, that do not fit, and what is no row at all."""
    tool = tmp_path / "bulk.py"
    tool.write_text(
        "from __future__ import annotations\n"
        "from typing import Iterator, Literal, TypedDict\n"
        "from operable.tool import Event, Tool, Warn\n"
        "tool = Tool('bulk', version='1', schema_name='e')\n"
        "class Row(TypedDict):\n    type: Literal['row']\n    n: int\n    text: str\n"
        "class Thing(Event):\n    n: int\n"
        "@tool.command()\n"
        "def go(times: int) -> Iterator[Row | Thing]:\n"
        "    for n in range(times):\n"
        "        if n % 1000 == 7: yield Warn('ODD', 'odd')\n"
        "        elif n % 1000 == 8: yield Thing(n=n)\n"
        "        elif n % 1000 == 9: yield {'type': 'other', 'n': n, 'x': 1.5}\n"
        "        elif n % 1000 == 10: yield {'type': 'row', 'n': 2 ** 70, 'text': '\\udcff\\x9b'}\n"
        "        else: yield {'type': 'row', 'n': n, 'text': 'é' * 20}\n"
        "tool.main()\n"
    )
    times = 4 * BULK
    outcome = run("go", str(times), "--limit", str(times), tool=tool)
    assert outcome.exit_code == 0
    assert outcome.summary["count"] == times - outcome.summary["warning_count"]
    assert [event["n"] for event in outcome.results if event["n"] != 2**70] == [
        n for n in range(times) if n % 1000 not in (7, 10)
    ]
    assert {event["text"] for event in outcome.results if event["n"] == 2**70} == {"\ufffd\x9b"}
    cut = run("go", str(times), "--limit", str(times - 100), tool=tool)
    assert (cut.summary["count"], cut.summary["truncated"]) == (times - 100, True)


def test_a_row_without_a_type_is_refused_however_long_the_stream(tmp_path):
    tool = tmp_path / "untyped.py"
    tool.write_text(
        "from __future__ import annotations\n"
        "from typing import Iterator, TypedDict\n"
        "from operable.tool import Tool\n"
        "tool = Tool('bulk', version='1', schema_name='e')\n"
        "class Row(TypedDict):\n    n: int\n"
        "@tool.command()\n"
        "def go(times: int) -> Iterator[Row]:\n"
        "    for n in range(times): yield {'type': 'row', 'n': n}\n"
        "    yield {'n': 1}\n"
        "tool.main()\n"
    )
    for times in (0, 100, 3 * BULK):
        outcome = run("go", str(times), "--limit", "99999", tool=tool)
        assert outcome.exit_code == 70
        assert outcome.summary["count"] == times


BATCHES = """
from __future__ import annotations
from typing import Iterator, Literal, TypedDict
from operable.tool import Tool, Warn
tool = Tool('batches', version='1', schema_name='e')
class Row(TypedDict):
    type: Literal['row']
    n: int
@tool.command(cursor="n")
def go(*, size: int = 7) -> Iterator[list[Row]]:
    rows = [Row(type="row", n=n) for n in range(100)]
    for start in range(0, 100, size):
        yield rows[start : start + size]
        yield Warn("BETWEEN", "between two lists")
    yield []
tool.main()
"""


@pytest.mark.parametrize("limit", [1, 6, 7, 8, 99, 100, 101])
@pytest.mark.parametrize("extra", [[], ["--max-bytes", "100000"]])
def test_lists_of_results_obey_the_limit_like_single_ones(tmp_path, limit, extra):
    tool = tmp_path / "batches.py"
    tool.write_text(BATCHES)
    outcome = run("go", "--limit", str(limit), *extra, tool=tool)
    assert [event["n"] for event in outcome.results] == list(range(min(limit, 100)))
    assert outcome.summary["count"] == min(limit, 100)
    assert outcome.summary["truncated"] == (limit < 100)
    assert (outcome.summary["next_cursor"] is not None) == (limit < 100)


def test_an_older_schema_and_people_see_lists_row_by_row(tmp_path):
    tool = tmp_path / "batches.py"
    tool.write_text(
        BATCHES.replace(
            "class Row",
            "tool.older_schema('0.9.0', events=[], convert=lambda e: {'type': 'old', 'n': e['n']} if e['n'] % 2 else None)\nclass Row",
        )
    )
    outcome = run("go", "--schema-version", "0", "--limit", "60", tool=tool)
    assert [event["n"] for event in outcome.results] == list(range(1, 100, 2))
    assert outcome.summary["count"] == 50
