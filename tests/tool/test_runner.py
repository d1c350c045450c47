"""One run from its meta event to its summary: what is counted, what is cut, and how it says so."""

import re

import pytest

from tests.requirement import requirement
from tests.tool.drive import run


@requirement(
    "aoi:4:meta-first",
    "aoi:4:summary-before-exit-0",
    "aoi:4:summary-is-terminal",
    "aoi:6:zero-is-process-success",
    "aoi:2:type-required",
    "aoi:8.2:aoi-prefix",
)
def test_a_run_begins_with_meta_and_ends_with_one_summary():
    outcome = run("count", "--times", "3")
    assert outcome.exit_code == 0
    assert [event["type"] for event in outcome.events] == ["aoi:meta", "hit", "hit", "hit", "aoi:summary"]
    assert outcome.stderr == ""


@requirement("aoi:5:meta-versions", "aoi:5:three-versions", "aoi:8.3:meta", "aoi:8.1:trace-id")
def test_the_meta_event_names_tool_command_and_the_three_versions():
    first, second = (run("count").events[0] for _ in range(2))
    trace_ids = {first.pop("trace_id"), second.pop("trace_id")}
    assert first == {
        "type": "aoi:meta",
        "tool": "sample",
        "tool_version": "1.2.3",
        "aoi_version": "0.2",
        "schema_name": "com.example.sample.events",
        "schema_version": "1.0.0",
        "command": "count",
    }
    assert len(trace_ids) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", trace_id) for trace_id in trace_ids)


@requirement("aoi:8.3:summary")
def test_the_summary_has_all_its_fields():
    summary = run("count").summary
    elapsed = summary.pop("elapsed_ms")
    assert summary == {
        "type": "aoi:summary",
        "ok": True,
        "count": 5,
        "warning_count": 0,
        "error_count": 0,
        "partial": False,
        "truncated": False,
        "next_cursor": None,
    }
    assert isinstance(elapsed, int)
    assert elapsed >= 0


@requirement("aoi:2:warnings-structured", "aoi:8.3:warning", "aoi:8.3:error", "aoi:6:nonzero-on-failure")
def test_warnings_progress_and_item_errors_travel_with_the_results_and_are_counted():
    outcome = run("framework")
    assert [event["type"] for event in outcome.events[1:-1]] == [
        "aoi:warning",
        "aoi:progress",
        "hit",
        "aoi:error",
        "hit",
    ]
    assert outcome.of("aoi:warning") == [
        {"type": "aoi:warning", "code": "ODD", "message": "something odd", "target": "n1"}
    ]
    summary = outcome.summary
    assert (summary["count"], summary["warning_count"], summary["error_count"]) == (2, 1, 1)
    assert (summary["ok"], summary["partial"], outcome.exit_code) == (False, True, 65)


@pytest.mark.parametrize(
    "how, count", [("dict", 1), ("none", 0), ("list", 2), ("coroutine", 0), ("nothing", 0)]
)
def test_a_command_may_return_instead_of_yield(how, count):
    outcome = run("value", "--how", how)
    assert (outcome.exit_code, outcome.summary["count"], len(outcome.results)) == (0, count, count)


# -- bounds ------------------------------------------------------------------------------------------------------------


@requirement("aoi:15:limit", "aoi:15:truncated", "aoi:15:next-cursor")
@pytest.mark.parametrize(
    "times, limit, shown, truncated",
    [
        (5, 4, 4, True),
        (5, 5, 5, False),
        (5, 6, 5, False),
        (0, 1, 0, False),
        (1, 1, 1, False),
        (2, 1, 1, True),
    ],
)
@pytest.mark.parametrize("option", ["--limit", "--max-lines"])
def test_truncated_says_exactly_whether_something_was_left_out(times, limit, shown, truncated, option):
    outcome = run("count", "--times", str(times), option, str(limit))
    summary = outcome.summary
    assert (outcome.exit_code, len(outcome.results), summary["count"]) == (0, shown, shown)
    assert summary["truncated"] is truncated
    assert (summary["next_cursor"] is not None) is truncated


@requirement("aoi:15:max-lines")
@pytest.mark.parametrize("limit, lines", [("2", "3"), ("3", "2")])
def test_of_limit_and_lines_the_smaller_one_counts(limit, lines):
    assert run("count", "--limit", limit, "--max-lines", lines).summary["count"] == 2


@requirement("aoi:15:bounded-default")
def test_without_a_limit_the_default_holds():
    summary = run("count", "--times", "101").summary
    assert (summary["count"], summary["truncated"]) == (100, True)


LINE = len('{"type":"hit","rank":1,"title":"é"}\n'.encode())


@requirement("aoi:15:max-bytes", "aoi:15:truncated")
@pytest.mark.parametrize(
    "size, shown, truncated",
    [(3 * LINE, 3, False), (3 * LINE - 1, 2, True), (2 * LINE, 2, True), (LINE, 1, True), (10**9, 3, False)],
)
def test_bytes_are_counted_as_they_are_on_the_wire(size, shown, truncated):
    outcome = run("count", "--times", "3", "--title", "é", "--max-bytes", str(size))
    assert (len(outcome.results), outcome.summary["truncated"]) == (shown, truncated)
    assert (outcome.summary["next_cursor"] is not None) is truncated
    written = sum(len(line) + 1 for line in outcome.stdout.split(b"\n") if b'"hit"' in line)
    assert written <= size


@requirement("aoi:15:max-bytes")
def test_a_result_that_is_larger_than_the_bound_is_told():
    """Otherwise whoever follows the cursor would turn in circles."""
    first = run("count", "--times", "3", "--max-bytes", "10")
    assert (first.exit_code, first.summary["count"], first.summary["truncated"]) == (0, 0, True)
    assert first.summary["next_cursor"] is None
    assert [warning["code"] for warning in first.of("aoi:warning")] == ["RESULT_TOO_LARGE"]
    assert first.summary["warning_count"] == 1
    cursor = run("count", "--times", "3", "--limit", "1").summary["next_cursor"]
    later = run("count", "--times", "3", "--max-bytes", "10", "--cursor", cursor)
    assert (later.summary["next_cursor"], later.summary["warning_count"]) == (cursor, 1)


@requirement("aoi:15:cursor", "aoi:15:next-cursor")
@pytest.mark.parametrize(
    "bounds",
    [
        ["--limit", "1"],
        ["--limit", "3"],
        ["--limit", "7"],
        ["--limit", "8"],
        ["--max-lines", "2"],
        ["--max-bytes", "100"],
        ["--max-bytes", "100", "--limit", "3"],
    ],
)
def test_following_the_cursor_gives_each_result_once(bounds):
    ranks: list[int] = []
    cursor: list[str] = []
    for _ in range(10):
        outcome = run("count", "--times", "7", *bounds, *cursor)
        assert outcome.exit_code == 0
        ranks += [event["rank"] for event in outcome.results]
        if not outcome.summary["truncated"]:
            break
        cursor = ["--cursor", outcome.summary["next_cursor"]]
    assert ranks == [1, 2, 3, 4, 5, 6, 7]


def test_a_larger_page_may_follow_a_smaller_one():
    cursor = run("count", "--times", "9", "--limit", "2").summary["next_cursor"]
    assert len(run("count", "--times", "9", "--limit", "5", "--cursor", cursor).results) == 5


def test_an_author_who_ignores_the_bound_is_cut_and_closed():
    outcome = run("endless", "--limit", "3")
    assert ([event["rank"] for event in outcome.results], outcome.summary["truncated"]) == ([1, 2, 3], True)
    assert outcome.summary["next_cursor"] is None  # this command has no cursor


def test_what_is_no_result_does_not_count_against_the_limit():
    outcome = run("framework", "--limit", "1")
    assert (len(outcome.results), outcome.summary["truncated"]) == (1, True)
    assert outcome.summary["warning_count"] == 1


def test_a_result_that_an_older_schema_drops_was_not_left_out(tmp_path):
    tool = tmp_path / "drops.py"
    tool.write_text(
        "from operable.tool import Tool, Event\n"
        "tool = Tool('drops', version='1', schema_name='e', schema_version='2.0.0')\n"
        "tool.older_schema('1.0.0', events=[], convert=lambda event: event if event['n'] < 2 else None)\n"
        "@tool.command()\n"
        "def go():\n"
        "    for n in range(4): yield {'type': 'number', 'n': n}\n"
        "tool.main()\n"
    )
    for bounds in (["--limit", "2"], ["--limit", "2", "--max-bytes", "1000"]):
        outcome = run("go", "--schema-version", "1", *bounds, tool=tool)
        assert (outcome.summary["count"], outcome.summary["truncated"]) == (2, False)


def test_many_results_are_all_there():
    """More than a block, and more than it takes for the generated encoders to take over."""
    outcome = run("count", "--times", "20000", "--limit", "30000", "--title", "t" * 50)
    assert [event["rank"] for event in outcome.results] == list(range(1, 20_001))
    assert outcome.summary["count"] == 20_000
