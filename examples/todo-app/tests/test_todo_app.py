"""The behavioural contract of the to-do application, through its command line and through the runtime."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from operable.app import Approvals, call, find, schedules, validate

PACKAGE = Path(__file__).parents[1]
ITEM = json.loads((PACKAGE / "schemas" / "item.json").read_text("utf-8"))
ERROR = json.loads((PACKAGE / "schemas" / "error.json").read_text("utf-8"))


@pytest.fixture
def todo(tmp_path):
    """The application in a folder of its own: (status, answer) of a command."""
    shutil.copytree(PACKAGE, tmp_path / "todo-app", ignore=shutil.ignore_patterns("state", "__pycache__"))

    def run(*words):
        line = [sys.executable, "app/cli.py", *words]
        done = subprocess.run(line, cwd=tmp_path / "todo-app", capture_output=True, timeout=200, check=False)
        return done.returncode, json.loads(done.stdout)

    run.root = tmp_path / "todo-app"
    return run


def test_the_package_conforms():
    assert validate(str(PACKAGE)).problems == ()


def test_items_have_stable_ids_and_the_published_shape(todo):
    _, added = todo("add", "Write docs", "--due-at", "2026-04-05")
    status, listed = todo("list")
    assert (status, listed["count"], listed["items"]) == (0, 1, [added["item"]])
    assert added["item"]["id"] == "td_0001"
    jsonschema_rs.validate(ITEM, added["item"])
    todo("remove", "td_0001", "--confirm")
    assert todo("add", "Another")[1]["item"]["id"] == "td_0002"


def test_changes_are_kept_and_completing_twice_changes_nothing(todo):
    todo("add", "Write docs")
    assert todo("update", "td_0001", "--title", "Write more docs")[1]["item"]["title"] == "Write more docs"
    first = todo("complete", "td_0001")[1]["item"]
    assert (first["status"], todo("complete", "td_0001")[1]["item"]) == ("done", first)
    assert todo("list", "--status", "open")[1]["items"] == []


def test_lists_are_bounded_and_can_be_continued(todo):
    for number in range(3):
        todo("add", f"Item {number}")
    page = todo("list", "--limit", "2")[1]
    assert (page["count"], page["next"]) == (2, "td_0002")
    rest = todo("list", "--limit", "2", "--after", page["next"])[1]
    assert ([each["id"] for each in rest["items"]], rest["next"]) == (["td_0003"], None)


@pytest.mark.parametrize(
    "words, status, code",
    [
        (["remove", "td_0001"], 64, "CONFIRMATION_REQUIRED"),
        (["get", "td_9999"], 66, "NOT_FOUND"),
        (["get", "1"], 66, "NOT_FOUND"),
        (["add", "x", "--due-at", "tomorrow"], 65, "INVALID_DATE"),
        (["add", " "], 64, "USAGE"),
        (["fly"], 64, "USAGE"),
        ([], 64, "USAGE"),
        (["remind", "td_0001"], 64, "USAGE"),
    ],
)
def test_every_failure_is_structured_and_has_a_status(todo, words, status, code):
    found, answer = todo(*words)
    assert (found, answer["error"]["code"]) == (status, code)
    jsonschema_rs.validate(ERROR, answer)


def test_a_state_that_cannot_be_used_is_said_without_internals(todo):
    (todo.root / "app" / "state").write_text("in the way")
    status, answer = todo("list")
    assert (status, answer["error"]["code"]) == (74, "STATE_UNUSABLE")
    assert str(todo.root) not in json.dumps(answer)


def test_writers_at_the_same_time_wait_for_each_other(todo):
    line = [sys.executable, "app/cli.py", "add", "Same time"]
    running = [subprocess.Popen(line, cwd=todo.root, stdout=subprocess.PIPE) for _ in range(4)]
    answers = [json.loads(process.communicate(timeout=200)[0]) for process in running]
    assert sorted(answer["item"]["id"] for answer in answers) == ["td_0001", "td_0002", "td_0003", "td_0004"]


def test_people_can_ask_for_lines(todo):
    todo("add", "Write docs")
    line = [sys.executable, "app/cli.py", "list", "--human"]
    done = subprocess.run(line, cwd=todo.root, capture_output=True, timeout=200, check=True, text=True)
    assert done.stdout.startswith("td_0001  Write docs")


def test_the_runtime_runs_it_under_its_rules(todo, tmp_path):
    approvals = Approvals(str(tmp_path / "approvals.json"))
    package = find(str(todo.root))
    approvals.approve(package)
    added = call(package, ["add", "Write docs"], approvals).value["item"]
    assert call(package, ["remind", "td_0001", "--at", "2026-04-04"], approvals).ok
    assert [each["id"] for each in call(package, ["remind", "list"], approvals).entries()[0]] == [added["id"]]
    assert call(package, ["remind", "drop", "td_0001"], approvals).value["item"]["remindAt"] is None
    assert [each.command for each in schedules(package)] == ["remind", "remind list", "remind drop"]
    assert call(package, ["remove", "td_0001", "--confirm"], approvals, confirmed=True).ok
