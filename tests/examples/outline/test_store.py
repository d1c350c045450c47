"""The database file: private, shared by processes, migrated, and explained when it cannot be used."""

import contextlib
import os
import sqlite3
import subprocess

import pytest

from operable.examples.outline.database import SCHEMA, narrowed
from operable.examples.outline.effects import new_id
from operable.examples.outline.migrations import STEPS
from operable.examples.outline.transaction import Writing
from tests.examples.outline.process import PATIENCE, PROGRAM


def test_the_store_is_private_to_its_owner(outline):
    outline.ok("create", "a")
    assert outline.directory.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in outline.directory.iterdir()}.items() >= {
        ("outline.sqlite", 0o600)
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in outline.directory.iterdir())


@pytest.mark.parametrize(
    "environment, place",
    [
        ({"OUTLINE_HOME": "{}/o", "XDG_DATA_HOME": "{}/x", "HOME": "{}/h"}, "o"),
        ({"XDG_DATA_HOME": "{}/x", "HOME": "{}/h"}, "x/outline"),
        ({"HOME": "{}/h"}, "h/.local/share/outline"),
        ({"XDG_DATA_HOME": "relative", "HOME": "{}/h"}, "h/.local/share/outline"),
        ({"OUTLINE_HOME": "{}/a?b#c%20d é", "HOME": "{}/h"}, "a?b#c%20d é"),
    ],
)
def test_the_place_of_the_store_follows_the_environment(tmp_path, environment, place):
    env = {name: value.replace("{}", str(tmp_path)) for name, value in environment.items()}
    subprocess.run([PROGRAM, "create", "a"], env=env, check=True, timeout=PATIENCE, capture_output=True)
    assert (tmp_path / place / "outline.sqlite").exists()
    done = subprocess.run(
        [PROGRAM, "search", "a"], env=env, check=True, timeout=PATIENCE, capture_output=True, text=True
    )
    assert "doc_" in done.stdout


def test_without_any_home_the_answer_is_a_config_error(outline):
    outline.environment.clear()
    for command in (("list",), ("create", "a")):
        result = outline(*command)
        assert (result.error["category"], result.error["code"], result.exit_code) == ("config", "NO_HOME", 78)


def test_many_processes_create_at_once_in_a_store_that_none_has_made_yet(outline):
    running = [outline.start("create", f"n{number}") for number in range(8)]
    ended = [process.finish() for process in running]
    assert [code for code, _, _ in ended] == [0] * 8
    changes = sorted(
        event["change"] for _, events, _ in ended for event in events if event["type"] == "created"
    )
    assert changes == list(range(1, 9))
    assert outline.ok("status").domain[0]["notes"] == 8


def test_of_many_processes_that_update_one_version_exactly_one_wins(outline):
    (note_id,) = outline.fill({"title": "a"})
    running = [
        outline.start("update", note_id, "--title", f"t{number}", "--if-version", "1") for number in range(6)
    ]
    ended = [process.finish() for process in running]
    assert sorted(code for code, _, _ in ended) == [0, 65, 65, 65, 65, 65]
    lost = [event for _, events, _ in ended for event in events if event["type"] == "aoi:error"]
    assert {(error["category"], error["code"]) for error in lost} == {("conflict", "NOTE_CHANGED")}
    assert outline.note(note_id)["version"] == 2


def test_readers_see_the_state_before_while_a_writer_is_busy(outline):
    outline.fill({"title": "a"})
    writer = sqlite3.connect(outline.database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE notes SET title = 'b'")
    assert outline.ok("list").domain[0]["title"] == "a"
    writer.execute("ROLLBACK")
    writer.close()


def test_a_store_that_stays_locked_is_a_temporary_error(outline):
    outline.fill({"title": "a"})
    writer = sqlite3.connect(outline.database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    result = outline("create", "b")
    assert (result.error["category"], result.error["retryable"], result.exit_code) == ("temporary", True, 75)
    writer.close()
    assert outline.ok("status").domain[0]["notes"] == 1


def test_an_older_store_is_brought_up_to_date_by_whoever_opens_it_first(outline):
    outline.directory.mkdir(mode=0o700)
    with sqlite3.connect(outline.database) as database:
        for statement in STEPS[0]:
            database.execute(statement)
        database.execute(
            "INSERT INTO notes VALUES (1, 'doc_1', 'old note', 'b', '', '', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 1)"
        )
        database.execute("PRAGMA user_version=1")
    database.close()
    assert [hit["id"] for hit in outline.ok("search", "old").domain] == ["doc_1"]
    outline.ok("update", "doc_1", "--title", "new")
    (event,) = outline("watch", "--after", "0", "--limit", "1").domain
    assert (event["id"], event["version"]) == ("doc_1", 2)


def test_a_store_of_a_newer_outline_is_refused(outline):
    outline.ok("create", "a")
    with sqlite3.connect(outline.database) as database:
        database.execute(f"PRAGMA user_version={SCHEMA + 1}")
    database.close()
    for command in (("list",), ("create", "b")):
        result = outline(*command)
        assert (result.error["category"], result.error["code"], result.exit_code) == (
            "config",
            "DATABASE_TOO_NEW",
            78,
        )


def test_the_number_of_steps_is_known_without_importing_them():
    assert len(STEPS) == SCHEMA


@pytest.mark.parametrize(
    "content", [b"this is no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_store_is_an_io_error_and_found_by_doctor(outline, content):
    outline.directory.mkdir(mode=0o700)
    outline.database.write_bytes(content)
    outline.database.chmod(0o600)
    result = outline("list")
    assert (result.error["category"], result.exit_code) == ("io", 74)
    doctor = outline("doctor")
    assert [check["name"] for check in doctor.of("aoi:check") if not check["ok"]] == ["database"]
    assert doctor.exit_code != 0
    assert outline.database.read_bytes() == content


def test_an_empty_file_is_a_store_that_somebody_is_about_to_make(outline):
    outline.directory.mkdir(mode=0o700)
    outline.database.touch(0o600)
    assert outline.ok("list").domain == []
    outline.ok("create", "a")


def test_a_place_that_cannot_be_made_is_an_io_error(outline):
    outline.directory.write_text("a file, not a directory")
    result = outline("create", "a")
    assert (result.error["category"], result.exit_code) == ("io", 74)


def test_a_store_where_nothing_can_be_written_can_still_be_read(outline, monkeypatch):
    outline.fill({"title": "a"})
    for name in ("outline.sqlite-wal", "outline.sqlite-shm"):
        (outline.directory / name).unlink(missing_ok=True)
    monkeypatch.setenv("OUTLINE_HOME", str(outline.directory))
    monkeypatch.setattr(os, "access", lambda *_: False)
    from operable.examples.outline.database import Reading

    with Reading() as connection:
        assert connection
        assert connection.execute("SELECT title FROM notes").fetchall() == [("a",)]
    assert [path.name for path in outline.directory.iterdir()] == ["outline.sqlite"]


def test_a_transaction_that_fails_changes_nothing(outline, monkeypatch):
    outline.fill({"title": "a"})
    monkeypatch.setenv("OUTLINE_HOME", str(outline.directory))
    with Writing() as connection:
        connection.execute("UPDATE notes SET title = 'b'")
    with contextlib.suppress(KeyError), Writing() as connection:
        connection.execute("DELETE FROM notes")
        raise KeyError
    assert outline.ok("list").domain[0]["title"] == "b"


def test_ids_sort_in_the_order_in_which_they_are_made():
    made = [new_id() for _ in range(5000)]
    assert made == sorted(set(made))


def test_values_never_become_part_of_a_statement():
    where, values = narrowed("x'; DROP TABLE notes; --", "y' OR 1")
    assert "DROP" not in where
    assert where.count("?") == len(values)


def test_a_name_with_quotes_is_only_a_name(outline):
    outline.fill({"title": "a", "folder": "x'y", "tags": ["t'%_"]}, {"title": "b", "tags": ["tt"]})
    assert [entry["title"] for entry in outline.ok("list", "--folder", "x'y").domain] == ["a"]
    assert [entry["title"] for entry in outline.ok("list", "--tag", "t'%_").domain] == ["a"]
    assert outline.ok("list", "--tag", "t").domain == []
