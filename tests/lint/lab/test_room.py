"""What a room holds for a change, seen through lints of real tools."""

import sqlite3
from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, Report, lint
from operable.lint.lab import room
from operable.lint.lab.room import changes, snapshot
from tests.state.hostile_database import interrupted
from tests.zoo.breeding import Mutation, breed

ENTRY = 'emit("entry", id=note["id"], title=note["title"])'
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def linted(folder: Path, told: str, *only: str) -> Report:
    change = ("notes", ENTRY, f'emit("entry", id=note["id"], title=note["title"], {told})')
    tool = breed("python", folder, Mutation("told", "python", "3", ("list",), (change,)))
    return lint(str(tool), LintOptions(only=only, commands=("list", "create")))


@pytest.mark.parametrize("clock", ["time.monotonic_ns()", "int(time.time())"])
def test_a_clock_in_the_state_that_a_tool_tells_is_no_change_that_a_command_made(clock, tmp_path: Path):
    report = linted(tmp_path, f"age={clock}", "read-only-with-effects", "7")

    assert {finding.check: finding.result for finding in report.findings if finding.command == "list"} == {
        "read-only-with-effects": "pass",
        "repeated-effect": "not_applicable",
    }
    assert "fail" not in {finding.result for finding in report.findings}


def test_changes_are_found_by_content_and_named(tmp_path: Path):
    (tmp_path / "kept").write_text("same")
    (tmp_path / "edited").write_text("old")
    (tmp_path / "removed").write_text("x")
    before = snapshot(str(tmp_path))
    (tmp_path / "kept").write_text("same")
    (tmp_path / "edited").write_text("new")
    (tmp_path / "removed").unlink()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to("nowhere")

    found = changes(before, snapshot(str(tmp_path)), "work")

    assert [str(change) for change in found] == [
        "work/edited: changed",
        "work/folder: appeared",
        "work/folder/link: appeared",
        "work/removed: is gone",
    ]


def test_a_database_is_compared_by_what_it_says(tmp_path: Path):
    path = tmp_path / "notes.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table notes (title)")
        connection.execute("insert into notes values ('a')")
    connection.close()
    before = snapshot(str(tmp_path))
    bytes_before = path.read_bytes()

    with sqlite3.connect(path) as connection:
        connection.execute("insert into notes values ('b')")
        connection.execute("delete from notes where title = 'b'")
    connection.close()
    assert path.read_bytes() != bytes_before
    assert changes(before, snapshot(str(tmp_path)), "work") == ()

    with sqlite3.connect(path) as connection:
        connection.execute("insert into notes values ('b')")
    connection.close()
    assert len(changes(before, snapshot(str(tmp_path)), "work")) == 1


def test_a_database_with_an_address_for_a_name_is_opened_as_a_file_and_its_journal_is_not_obeyed(
    tmp_path: Path,
):
    room, precious = tmp_path / "room", tmp_path / "precious"
    room.mkdir()
    precious.write_text("kept")
    interrupted(room / "evil.db", precious)
    (room / "evil.db?mode=rw&x=").write_bytes(b"SQLite format 3\0")
    (room / "..%2fmade?mode=rwc&x=").write_bytes(b"SQLite format 3\0")
    before = sorted(path.name for path in room.iterdir())

    found = snapshot(str(room))

    assert sorted(found) == ["..%2fmade?mode=rwc&x=", "evil.db", "evil.db?mode=rw&x="]
    assert precious.read_text() == "kept"
    assert sorted(path.name for path in room.iterdir()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "room"]


def test_caches_are_no_state(tmp_path: Path):
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "x").touch()

    assert snapshot(str(tmp_path)) == {}


def test_of_very_many_files_some_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MAX_FILES", 3)
    for number in range(9):
        (tmp_path / str(number)).touch()

    assert len(snapshot(str(tmp_path))) == 4
