"""Cursors: opaque, bound to what was asked, and refused in one way when anything about them is wrong."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from operable.kernel.errors import EX_DATAERR, Fail
from operable.tool import Command, Event, Page, Tool
from operable.tool.run.cursor import MAX_LENGTH, _check, read_cursor, write_cursor
from tests.requirement import requirement
from tests.tool import notebook
from tests.tool.drive import run

NOTEBOOK = Path(notebook.__file__)
tool = Tool("notes", version="1.0", schema_name="com.example.notes")


class Hit(Event):
    rank: int


@tool.command(cursor="rank")
def search(
    query: str,
    files: list[Path] = [],  # noqa: B006 - as authors write it
    *,
    deep: bool = False,
    api_token: str = "",
    page: Page,
) -> Iterator[Hit]:
    """Find."""
    yield Hit(rank=1)


@tool.command(cursor="rank")
def browse(query: str, files: list[Path] = [], *, page: Page) -> Iterator[Hit]:  # noqa: B006
    """Look around."""
    yield Hit(rank=1)


VALUES: dict[str, Any] = {"query": "cats", "files": [Path("a"), Path("b")], "deep": False, "api_token": "t"}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters() | st.sampled_from("\ud800\udcff\0\u2028"))
)
POSITIONS = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


def refused(cursor: str, command: Command = search, values: dict[str, Any] = VALUES) -> Fail:
    with pytest.raises(Fail) as caught:
        read_cursor(cursor, command, values)
    assert (caught.value.category, caught.value.code) == ("validation", "INVALID_CURSOR")
    assert caught.value.exit_code == EX_DATAERR
    assert caught.value.hint
    return caught.value


@requirement("aoi:15:cursor")
@given(POSITIONS)
@example("file\udcff")
@example(2**200)
def test_what_is_written_is_read_back(position):
    cursor = write_cursor(position, search, VALUES)

    assert read_cursor(cursor, search, VALUES) == position
    assert cursor.isascii()
    assert cursor.replace(".", "").replace("-", "").replace("_", "").isalnum(), (
        "safe in a shell, a URL and JSON"
    )


@requirement("aoi:15:cursor")
@given(SCALARS, st.data())
def test_one_damaged_character_is_noticed(position, data):
    cursor = write_cursor(position, search, VALUES)
    index = data.draw(st.integers(0, len(cursor) - 1))
    replacement = data.draw(st.characters() | st.sampled_from("AZaz09-_.=\udcff"))
    assume(replacement != cursor[index])

    refused(cursor[:index] + replacement + cursor[index + 1 :])


@given(SCALARS, st.data())
def test_a_cut_or_lengthened_cursor_is_noticed(position, data):
    cursor = write_cursor(position, search, VALUES)
    cut = data.draw(st.integers(0, len(cursor) - 1))

    refused(cursor[:cut])
    refused(cursor[cut:] if cut else f"{cursor}=")
    refused(f"{cursor}{cursor}")
    refused(f"{cursor} ")


@given(st.text(st.characters() | st.sampled_from("1.=-_\udcff"), max_size=50))
@example("")
@example("..")
@example("1..")
@example("é.é.é")
@example("x" * (MAX_LENGTH + 1))
@example("1." + "A" * 10_000_000)
def test_text_that_is_no_cursor_is_refused_in_the_same_way(text):
    refused(text)


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "5",
        "null",
        "[]",
        "[1,2]",
        '["search"]',
        "{}",
        "[" * 100_000,
        '"abc"',
        '{"a":1,"b":2,"c":3}',
        "\xff",
    ],
)
def test_a_forged_cursor_whose_check_is_right_is_refused_in_the_same_way(payload):
    body = urlsafe_b64encode(payload.encode("latin-1")).decode().rstrip("=")

    refused(f"1.{body}.{_check(body)}")


def test_a_cursor_of_another_version_is_refused():
    refused("2" + write_cursor(1, search, VALUES)[1:])


def test_a_cursor_belongs_to_its_command_and_its_arguments():
    cursor = write_cursor(7, search, VALUES)

    assert "another command" in refused(cursor, browse).message
    others: list[dict[str, Any]] = [{"query": "dogs"}, {"files": [Path("a")]}, {"deep": True}, {"files": []}]
    for changed in others:
        assert "other arguments" in refused(cursor, search, VALUES | changed).message


def test_secrets_are_neither_in_a_cursor_nor_needed_to_use_it():
    assert read_cursor(write_cursor(7, search, VALUES), search, VALUES | {"api_token": "other"}) == 7


def test_positions_that_json_does_not_know_come_back_as_text():
    moment = datetime(2026, 1, 2, tzinfo=UTC)

    assert read_cursor(write_cursor([Path("/a"), moment], search, VALUES), search, VALUES) == [
        "/a",
        moment.isoformat(),
    ]


def test_a_position_that_does_not_fit_is_the_mistake_of_the_author():
    with pytest.raises(ValueError, match="the cursor fields of search"):
        write_cursor("x" * MAX_LENGTH, search, VALUES)
    with pytest.raises(ValueError, match="JSON"):
        write_cursor(float("nan"), search, VALUES)


@requirement("aoi:15:cursor", "aoi:15:next-cursor", "aoi:15:truncated")
@pytest.mark.parametrize("limit", ["1", "2", "3", "7", "10", "11"])
def test_pages_follow_each_other_without_gap_or_repetition(limit):
    words, ranks, pages = ("search", "cat", "--times", "10", "--limit", limit), [], 0
    cursor: list[str] = []
    while True:
        page = run(*words, *cursor, tool=NOTEBOOK)
        ranks += [hit["rank"] for hit in page.results]
        pages += 1
        assert page.exit_code == 0
        if not page.summary["truncated"]:
            assert page.summary["next_cursor"] is None
            break
        cursor = ["--cursor", page.summary["next_cursor"]]

    assert ranks == list(range(1, 11))
    assert pages == -(-10 // int(limit))


@requirement("aoi:15:cursor")
def test_a_page_may_be_followed_by_a_larger_one_but_not_by_another_question():
    first = run("search", "cat", "--limit", "2", tool=NOTEBOOK)
    cursor = first.summary["next_cursor"]

    assert [
        hit["rank"] for hit in run("search", "cat", "--cursor", cursor, "--limit", "3", tool=NOTEBOOK).results
    ] == [3, 4, 5]
    for words in (["search", "dog"], ["search", "cat", "--times", "6"]):
        other = run(*words, "--cursor", cursor, tool=NOTEBOOK)
        assert (other.exit_code, other.error["code"], other.error["category"]) == (
            65,
            "INVALID_CURSOR",
            "validation",
        )
        assert other.results == []
    assert json.loads(json.dumps(cursor)) == cursor
