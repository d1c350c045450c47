"""`--fields` and `--compact`: less of each result, all of the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from operable.kernel.errors import EX_USAGE
from operable.tool.front import understand
from operable.tool.run.reduction import Reduction
from tests.tool import notebook
from tests.tool.drive import Outcome, run

NOTEBOOK = Path(notebook.__file__)
LOOSE = '''
from dataclasses import dataclass
from datetime import date

from operable.tool import Event, Tool

tool = Tool("loose", version="1.0", schema_name="com.example.loose")


@dataclass
class Place:
    city: str
    street: str = ""


class Met(Event):
    name: str
    on: date
    where: Place
    seen: "list[Place]"
    more: "dict[str, int]"


@tool.command(columns=("name", "on"))
def met() -> "list[Met]":
    """List who was met."""
    place = Place("Bern")
    return [Met(name="A", on=date(2026, 1, 2), where=place, seen=[place, Place("Rom", "Via 1")], more={"x": 0})]


@tool.command()
def rows(*, many: bool = False):
    """List what nothing declares."""
    for number in range(120 if many else 2):
        late = {"late": number} if number > 60 else {}
        yield {"type": "row", "number": number, "text": "", "none": None, "off": False,
               "deep": {"a": None, "b": [{"c": 1, "d": ""}, {}]}} | late


if __name__ == "__main__":
    tool.main()
'''


def search(*words: str, output: str | None = "jsonl") -> Outcome:
    return run("search", "cats", "--times", "2", *words, output=output, tool=NOTEBOOK)


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("loose") / "loose.py"
    file.write_text(LOOSE)
    return file


def test_only_the_named_fields_are_left_in_the_order_of_the_event():
    done = search("--fields", "title,rank, authors.born")
    assert done.results == [
        {"type": "hit", "rank": rank, "title": f"cats {rank}", "authors": [{"born": None}]} for rank in (1, 2)
    ]
    assert list(done.results[0]) == ["type", "rank", "title", "authors"]
    assert "from" in search("--fields", "from").results[0]


def test_framework_events_are_never_cut():
    whole, less = search("--limit", "1"), search("--limit", "1", "--fields", "type", "--compact")
    assert less.results == [{"type": "hit"}]
    changing = {"trace_id", "elapsed_ms"}
    for before, after in zip(whole.events, less.events, strict=True):
        if before["type"].startswith("aoi:"):
            fields = before.keys() | ({"reduced"} if before["type"] == "aoi:meta" else set())
            assert after.keys() == fields
            assert all(after[name] == before[name] for name in before.keys() - changing)
    assert less.events[0]["reduced"] is True
    assert less.summary["next_cursor"] == whole.summary["next_cursor"] is not None


def test_the_next_page_is_found_by_a_field_that_was_left_out():
    first = search("--limit", "1", "--fields", "title")
    second = search("--limit", "1", "--fields", "title", "--cursor", first.summary["next_cursor"])
    assert [each.results[0]["title"] for each in (first, second)] == ["cats 1", "cats 2"]


def test_an_unknown_field_is_refused_before_the_command_runs_and_the_known_ones_are_named():
    done = search("--fields", "titel,rank")
    assert (done.exit_code, done.results, done.of("aoi:progress")) == (EX_USAGE, [], [])
    assert (done.error["code"], done.error["target"]) == ("UNKNOWN_FIELD", "--fields")
    assert done.error["fields"] == [
        *("rank", "title", "state", "score", "authors", "authors.name", "authors.born", "from", "extra")
    ]
    assert done.error["hint"].startswith("did you mean title? The fields are rank, title,")
    people = search("--fields", "authors.nmae", output=None)
    assert "has no field 'authors.nmae'" in people.stderr
    assert people.exit_code == EX_USAGE


@pytest.mark.parametrize("value", [",", "rank,", ".rank", "authors.", "a..b"])
def test_a_list_of_names_with_a_hole_is_refused(value: str):
    done = search("--fields", value)
    assert (done.exit_code, done.error["code"], done.error["target"]) == (
        EX_USAGE,
        "INVALID_VALUE",
        "--fields",
    )


def test_what_has_no_parts_has_no_fields_and_what_may_have_any_is_looked_at(loose: Path):
    assert search("--fields", "rank.x").error["code"] == "UNKNOWN_FIELD"
    assert search("--fields", "extra.x").results[0] == {"type": "hit", "extra": {"x": [1]}}
    met = run("met", "--fields", "on,where.city,seen.street,more.x,more.y", tool=loose)
    assert met.results == [
        {"type": "met", "on": "2026-01-02", "where": {"city": "Bern"},
         "seen": [{"street": ""}, {"street": "Via 1"}], "more": {"x": 0}}
    ]  # fmt: skip
    (warning,) = met.of("aoi:warning")
    assert (warning["code"], warning["message"]) == ("FIELDS_NOT_FOUND", "No result has more.y")
    assert run("met", "--fields", "where.city.x", tool=loose).error["code"] == "UNKNOWN_FIELD"


def test_what_nothing_declares_is_said_at_the_end(loose: Path):
    done = run("rows", "--fields", "number,nubmer,deep.b.c", tool=loose)
    assert done.results[0] == {"type": "row", "number": 0, "deep": {"b": [{"c": 1}, {}]}}
    (warning,) = done.of("aoi:warning")
    assert warning["message"] == "No result has nubmer"
    assert warning["hint"] == "their fields are deep, none, number, off, text"
    assert done.summary["warning_count"] == 1
    assert done.exit_code == 0


def test_compact_leaves_out_what_is_null_or_empty_and_nothing_else(loose: Path):
    done = run("rows", "--compact", tool=loose)
    assert done.results[0] == {
        "type": "row", "number": 0, "off": False, "deep": {"b": [{"c": 1}, {}]}
    }  # fmt: skip
    met = run("met", "--compact", tool=loose)
    assert met.results[0]["where"] == {"city": "Bern"}
    assert met.results[0]["seen"] == [{"city": "Bern"}, {"city": "Rom", "street": "Via 1"}]
    both = run("rows", "--compact", "--fields", "text,off", tool=loose)
    assert both.results[0] == {"type": "row", "off": False}


def test_bytes_are_counted_as_they_go_out():
    line = len(b'{"type":"hit","rank":1}\n')
    done = search("--fields", "rank", "--max-bytes", str(2 * line))
    assert (len(done.results), done.summary["truncated"]) == (2, False)


def test_people_get_the_columns_that_they_name_in_their_order():
    assert search("--fields", "title,rank", output=None).stdout.decode().splitlines() == [
        "TITLE   RANK",
        "cats 1  1",
        "cats 2  2",
    ]


def test_people_see_every_value_that_compact_leaves(loose: Path):
    text = run("rows", "--many", "--compact", output=None, tool=loose).stdout.decode()
    headers = [line.split() for line in text.splitlines() if line.startswith("NUMBER")]
    assert headers == [["NUMBER", "OFF", "DEEP"], ["NUMBER", "OFF", "DEEP", "LATE"]]
    assert text.splitlines()[-1].split()[-1] == "99"  # the last of the default page
    met = run("met", "--compact", output=None, tool=loose).stdout.decode()
    assert met.splitlines()[0].split() == ["NAME", "ON"]


def test_an_older_schema_is_reduced_by_its_own_names():
    done = search("--schema-version", "1", "--fields", "name")
    assert done.results == [{"type": "hit", "name": "cats 1"}, {"type": "hit", "name": "cats 2"}]
    assert search("--schema-version", "1", "--fields", "title").error["code"] == "UNKNOWN_FIELD"


def test_only_commands_with_results_have_them_and_a_field_of_the_author_wins():
    for words in (["delete", "n1", "--fields", "id"], ["schema", "--compact"], ["doctor", "--fields", "ok"]):
        _, refusal = understand(notebook.tool, words)
        assert refusal is not None
        assert refusal.code == "UNKNOWN_OPTION"


def test_a_path_below_a_whole_member_changes_nothing():
    for fields in ("authors,authors.name", "authors.name,authors"):
        reduction = Reduction(notebook.tool, notebook.search, {"fields": fields})
        event: dict[str, Any] = {"type": "hit", "authors": [{"name": "A", "born": 1}], "rank": 1}
        assert reduction.reduced(event) == {"type": "hit", "authors": [{"name": "A", "born": 1}]}
