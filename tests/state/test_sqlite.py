"""Looking into a database that cannot be written, or that somebody writes meanwhile."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from operable.flow.contracts import Surroundings
from operable.flow.scheduler.backends import apply_to_store
from operable.flow.scheduler.reconciliation import ApplyOptions
from operable.state.sqlite import read_database, read_foreign_database
from tests.flow.manifests import manifest
from tests.state.hostile_database import interrupted

LIMIT = 240  # seconds for a process on a very busy machine
PROGRAM = """
import json, sys
from operable.flow.scheduler.inspection import Inspection, inspect
from operable.flow.scheduler.job_store import stored_jobs
path = sys.argv[1]
shown = inspect(path, Inspection(target="operable"))
print(json.dumps([[job["name"] for job in stored_jobs(path)], shown["count"]]))
"""


def in_a_world_that_is_read_only(path):
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", sys.executable, "-c", PROGRAM, path]
    return subprocess.run(words, capture_output=True, timeout=LIMIT, check=False)


@pytest.fixture
def store(tmp_path):
    path = str(tmp_path / "jobs.db")
    apply_to_store(manifest(), path, ApplyOptions(), Surroundings("/"))
    return path


@pytest.mark.needs("bwrap")
def test_a_store_in_a_folder_that_cannot_be_written_is_read_as_it_stands(store):
    found = in_a_world_that_is_read_only(store)

    assert json.loads(found.stdout) == [["A"], 1], found.stderr


@pytest.mark.needs("bwrap")
def test_what_waits_in_a_log_beside_it_is_not_left_out_without_a_word(store, tmp_path):
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("UPDATE jobs SET workflow_id = 'later'")
        writer.commit()
        (tmp_path / "copy").mkdir()
        for ending in ("", "-wal"):
            shutil.copy(store + ending, tmp_path / "copy" / f"jobs.db{ending}")
    found = in_a_world_that_is_read_only(str(tmp_path / "copy" / "jobs.db"))

    assert b"unable to open database file" in found.stderr


def test_whoever_looks_cannot_write(store):
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        read_database(store, lambda connection: connection.execute("DELETE FROM jobs"))
    assert read_database(
        store, lambda connection: connection.execute("SELECT count(*) FROM jobs").fetchone()
    ) == (1,)


def tables(connection):
    return connection.execute("SELECT name FROM sqlite_master").fetchall()


def test_sqlite_itself_obeys_the_journal_of_a_foreign_database(tmp_path):
    """Else the next test could not fail."""
    doomed = tmp_path / "precious"
    doomed.write_text("kept")
    interrupted(tmp_path / "evil.db", doomed)

    with closing(sqlite3.connect(tmp_path / "evil.db")) as connection:
        tables(connection)

    assert not doomed.exists()


def test_the_journal_of_a_foreign_database_has_no_effect(tmp_path):
    doomed = tmp_path / "precious"
    doomed.write_text("kept")
    interrupted(tmp_path / "evil.db", doomed)

    with pytest.raises(sqlite3.DatabaseError, match="interrupted"):
        read_foreign_database(str(tmp_path / "evil.db"), tables)

    assert doomed.read_text() == "kept"
    assert (tmp_path / "evil.db-journal").exists()


@pytest.mark.parametrize("name", ["evil.db?mode=rw&x=", "evil.db%3Fmode=rw", "..%2fmade?mode=rwc&x=", "x#y"])
def test_the_name_of_a_foreign_database_is_only_a_name(name, tmp_path):
    folder, doomed = tmp_path / "room", tmp_path / "precious"
    folder.mkdir()
    doomed.write_text("kept")
    interrupted(folder / "evil.db", doomed)
    with closing(sqlite3.connect(folder / "plain")) as connection:
        connection.execute("CREATE TABLE mine (a)")
        connection.commit()
    (folder / "plain").rename(folder / name)
    before = sorted(path.name for path in folder.iterdir())

    assert read_foreign_database(str(folder / name), tables) == [("mine",)]
    assert doomed.read_text() == "kept"
    assert sorted(path.name for path in folder.iterdir()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "room"]


def test_a_foreign_database_is_read_with_its_log_which_stays_as_it_is(tmp_path):
    path, log = tmp_path / "live.db", tmp_path / "live.db-wal"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE waiting (a)")
        before = path.read_bytes(), log.read_bytes()

        assert read_foreign_database(str(path), tables) == [("waiting",)]

        assert (path.read_bytes(), log.read_bytes()) == before


def test_a_link_in_the_place_of_a_foreign_database_is_not_followed(tmp_path, store):
    (tmp_path / "link.db").symlink_to(store)

    with pytest.raises(OSError, match="symbolic links"):
        read_foreign_database(str(tmp_path / "link.db"), tables)


def test_a_query_of_a_foreign_database_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("operable.state.sqlite._MOST_STEPS", 200_000)
    sqlite3.connect(tmp_path / "x.db").close()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        read_foreign_database(str(tmp_path / "x.db"), lambda connection: connection.execute(endless))
