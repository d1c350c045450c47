"""Groups of options: a parameter of a class of `Options` is one option per field on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from operable.tool import Change, Event, Options, Tool
from operable.tool.discovery.capabilities import review
from operable.tool.discovery.help_text import command_help, parameter_help
from operable.tool.discovery.schema import input_schema

TOOL = '''
from __future__ import annotations
from collections.abc import Iterator
from operable.tool import Change, Event, Options, Stream, Input, Tool
tool = Tool("grouped", version="1", schema_name="com.example.grouped.events")

class Where(Options):
    """Where.

    folder: the folder
    deep: also below it
    """
    folder: str
    deep: bool = True
    skip: list[str] | None = None
    finish: str = ""

class NoteIn(Input):
    title: str

class Seen(Event):
    first: str
    folder: str
    deep: bool
    skip: list[str] | None
    more: str | None

def seen(first, where, more=None):
    return Seen(first=first, folder=where.folder, deep=where.deep, skip=where.skip, more=more)

@tool.command()
def look(first: str, *rest: str, where: Where, more: str | None = None) -> Iterator[Seen]:
    """Look.

    skip: what to leave out
    """
    yield seen(first, where, more)

@tool.command(mutates=True)
def write(*, where: Where, notes: Stream[NoteIn]) -> Iterator[Change]:
    """Write."""
    for note in notes:
        yield Change("write", note.title, folder=where.folder).carry(where)

@write.apply
def apply(changes: list[Change]) -> Iterator[Seen]:
    for change in changes:
        yield seen(change.target, change.payload)

if __name__ == "__main__":
    tool.main()
'''


class Where(Options):
    """Where.

    folder: the folder
    """

    folder: str = "."
    kind: Literal["a", "b"] = "a"


class Hit(Event):
    name: str


def run(tmp_path: Path, *words: str, stdin: str = "") -> tuple[int, list[dict[str, Any]]]:
    (tmp_path / "grouped.py").write_text(TOOL)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "grouped.py"), *words, "--output", "jsonl"],
        capture_output=True,
        input=stdin,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_fields_are_options_and_the_function_gets_one_value(tmp_path):
    code, events = run(
        tmp_path, "look", "x", "--skip", "a", "--no-deep", "--folder", "f", "--skip", "b", "--more", "m"
    )
    assert code == 0
    assert events[1] == {
        "type": "seen",
        "first": "x",
        "folder": "f",
        "deep": False,
        "skip": ["a", "b"],
        "more": "m",
    }


def test_a_field_without_a_default_is_a_required_option(tmp_path):
    code, events = run(tmp_path, "look", "x")
    assert code == 64
    assert events[1]["code"] == "MISSING_OPTION"
    assert events[1]["target"] == "--folder"


def test_a_mutation_has_its_group_and_its_stream_and_its_plan_carries_a_payload(tmp_path):
    note = json.dumps({"title": "t"}) + "\n"
    code, plan = run(tmp_path, "write", "--folder", "f", "--input-jsonl", "-", "--dry-run", stdin=note)
    assert (code, plan[1]) == (0, {"type": "aoi:plan", "action": "write", "target": "t", "folder": "f"})
    code, done = run(tmp_path, "write", "--folder", "f", "--input-jsonl", "-", stdin=note)
    assert (code, done[1]["first"], done[1]["folder"]) == (0, "t", "f")


def test_what_is_planned_with_a_group_is_part_of_what_an_idempotency_key_stands_for(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    note = json.dumps({"title": "t"}) + "\n"
    words = ("write", "--input-jsonl", "-", "--idempotency-key", "k")
    assert run(tmp_path, *words, "--folder", "f", stdin=note)[0] == 0
    code, other = run(tmp_path, *words, "--folder", "g", stdin=note)
    assert code != 0
    assert other[1]["category"] == "conflict"


def made(**options: Any) -> tuple[Tool, Any]:
    tool = Tool("t", version="1", schema_name="x")

    @tool.command(**options)
    def find(word: str, *, where: Where) -> Iterator[Hit]:
        """Find.

        word: what
        kind: the kind, as this command means it
        """
        yield Hit(name=where.folder + word)

    return tool, find


def test_help_and_schema_show_plain_options():
    tool, find = made()
    assert "--folder TEXT" in command_help(tool, find)
    assert list(input_schema(tool, find)["properties"])[:3] == ["word", "folder", "kind"]
    assert input_schema(tool, find)["properties"]["kind"]["enum"] == ["a", "b"]


def test_help_is_that_of_the_group_unless_the_command_says_otherwise():
    _, find = made()
    assert parameter_help(find) == {
        "word": "what",
        "folder": "the folder",
        "kind": "the kind, as this command means it",
    }


def test_the_function_can_be_called_with_a_value():
    _, find = made()
    assert [hit.name for hit in find("x", where=Where(folder="f"))] == ["fx"]


def test_a_group_is_a_keyword_without_a_default():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    def find(where: Where) -> Iterator[Hit]:
        """Find."""
        yield Hit(name=where.folder)

    with pytest.raises(TypeError, match="find: write 'where', a group of options, after the \\*"):
        _ = find.params


def test_an_option_that_is_there_twice_is_refused():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    def find(*, folder: str = "", where: Where) -> Iterator[Hit]:
        """Find."""
        yield Hit(name=folder + where.folder)

    with pytest.raises(TypeError, match="two parameters are called 'folder'"):
        review(tool)


def test_a_guard_of_a_mutation_cannot_be_an_option_of_a_group():
    class Bad(Options):
        confirm: bool = False

    globals()["Bad"] = Bad
    tool = Tool("t", version="1", schema_name="x")

    @tool.command(mutates=True)
    def drop(*, bad: Bad) -> Iterator[Change]:
        """Drop."""
        yield Change("drop", str(bad.confirm))

    with pytest.raises(TypeError, match="--confirm guards it"):
        _ = drop.params


def test_a_secret_of_a_group_can_be_declared_by_the_command():
    _, find = made(secrets=["folder"])
    assert [param.name for param in find.params if param.secret] == ["folder"]
