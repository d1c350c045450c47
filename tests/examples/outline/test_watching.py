"""watch: what happens, while it happens."""

import signal
import sqlite3

import pytest

from tests.requirement import requirement


@requirement("aoi:4.2:unbounded-documented", "aoi:4.2:interrupted-summary")
def test_changes_by_other_processes_are_told_as_they_happen(outline):
    (old,) = outline.fill({"title": "old", "folder": "f"})
    running = outline.start("watch", "--poll", "0.05")
    meta = running.next_event()
    assert (meta["unbounded"], meta["heartbeat_interval"]) == (True, 15.0)
    expected = [
        *outline.ok("create", "new", "--folder", "g").domain,
        *outline.ok("update", old, "--title", "newer").domain,
        *outline.ok("delete", old, "--confirm").domain,
    ]
    assert [running.next_event() for _ in expected] == expected
    code, events, stderr = running.stop(signal.SIGINT)
    assert code == 130
    assert (events[-1]["ok"], events[-1]["reason"], events[-1]["count"]) == (False, "interrupted", 3)
    assert stderr == b""


def test_a_store_that_appears_later_is_watched_from_its_beginning(outline):
    running = outline.start("watch", "--poll", "0.05")
    running.next_event()
    expected = outline.ok("create", "first").domain
    assert [running.next_event()] == expected
    assert running.stop(signal.SIGTERM)[0] == 143


def test_watching_resumes_after_a_known_change(outline):
    for title in "abc":
        outline.ok("create", title)
    result = outline("watch", "--after", "1", "--limit", "2", "--poll", "0.05")
    assert [(event["change"], event["title"]) for event in result.domain] == [(2, "b"), (3, "c")]
    assert result.summary["truncated"] is True


def test_only_the_folder_asked_for_is_watched(outline):
    outline.fill(
        {"title": "a", "folder": "x"}, {"title": "b", "folder": "xy"}, {"title": "c", "folder": "x/y"}
    )
    result = outline("watch", "--after", "0", "--folder", "x", "--limit", "2")
    assert [event["title"] for event in result.domain] == ["a", "c"]


def test_forgotten_changes_are_admitted(outline):
    outline.fill({"title": "a"}, {"title": "b"}, {"title": "c"})
    with sqlite3.connect(outline.database) as database:
        database.execute("DELETE FROM changes WHERE change <= 2")
    database.close()
    result = outline("watch", "--after", "0", "--limit", "1")
    (warning,) = result.of("aoi:warning")
    assert warning["code"] == "CHANGES_FORGOTTEN"
    assert [event["title"] for event in result.domain] == ["c"]


@pytest.mark.parametrize("option", [("--poll", "0"), ("--poll", "61"), ("--poll", "x"), ("--after", "-1")])
def test_senseless_intervals_and_positions_are_usage_errors(outline, option):
    assert outline("watch", *option).exit_code == 64


def test_a_deadline_ends_watching(outline):
    result = outline("watch", "--timeout", "0.2")
    assert (result.exit_code, result.summary["ok"]) == (124, False)
