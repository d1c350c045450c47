"""Looking into a database that cannot be written, or that somebody writes meanwhile."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from operable.flow.contracts import Surroundings
from operable.flow.scheduler.operable import apply_to_store
from operable.flow.scheduler.reconciliation import ApplyOptions
from operable.state.sqlite import read_database
from tests.flow.manifests import manifest

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
