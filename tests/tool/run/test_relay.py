"""Commands that pass on the events of other tools."""

import json
from pathlib import Path

from tests.requirement import requirement
from tests.tool.drive import SIGINT, SIGTERM, parsed, run, running
from tests.tool.sample_relay import LINES

RELAY = Path(__file__).parents[1] / "sample_relay.py"


def relay(*words, **options):
    return run(*words, tool=RELAY, **options)


@requirement("aoi:4:meta-first")
def test_the_own_meta_waits_for_the_other_tool_and_still_comes_first():
    outcome = relay("passing", "--timeout", "5")
    meta = outcome.events[0]
    assert (meta["tool"], meta["command"]) == ("relay", "passing")
    assert meta["upstream"] == {"tool": "other", "schema_name": "com.example.other"}


def test_a_relay_that_introduces_nobody_still_has_its_own_meta():
    assert "upstream" not in relay("passing", "--silent").events[0]


@requirement("aoi:13:upstream-warnings", "aoi:13:upstream-errors", "aoi:13:domain-is-data")
def test_lines_pass_unchanged_and_are_counted_by_what_they_are():
    outcome = relay("passing")
    assert LINES in outcome.stdout
    summary = outcome.summary
    assert (summary["count"], summary["warning_count"], summary["error_count"]) == (4, 1, 1)
    assert (summary["ok"], outcome.exit_code) == (False, 65)


def test_a_failure_after_passing_on_keeps_the_count():
    outcome = relay("passing", "--end", "fail")
    assert (outcome.exit_code, outcome.summary["count"], outcome.summary["partial"]) == (75, 3, True)


def test_a_conclusion_is_stronger_than_the_counts():
    summary = relay("passing", "-e", "conclude").summary
    assert (summary["ok"], summary["partial"], summary["truncated"]) == (True, True, True)
    assert (summary["next_cursor"], summary["message"]) == ("abc", "as was wanted")


def test_a_relay_knows_its_bounds():
    outcome = relay("passing", "--limit", "9", "--max-lines", "7", "--max-bytes", "1000", "--timeout", "5")
    assert outcome.results[-1]["text"] == "7 1000 5"


def test_people_see_the_events_and_nothing_in_them_acts_on_their_terminal():
    outcome = relay("passing", output=None)
    shown = outcome.stdout.decode()
    assert "·[31mred" in shown
    assert "own" in shown
    assert "slow·" in outcome.stderr
    assert "lost·[2J" in outcome.stderr
    assert "hint: look" in outcome.stderr
    assert "\x1b" not in shown + outcome.stderr


def test_the_closing_word_is_for_people_too():
    assert "as was wanted" in relay("passing", "--end", "conclude", output=None).stderr


@requirement("aoi:7:signal-summary")
def test_a_stopped_relay_ends_its_stream():
    for number, code in ((SIGINT, 130), (SIGTERM, 143)):
        with running("passing", "--end", "wait", tool=RELAY) as tool:
            tool.event("note")
            tool.signal(number)
            outcome = tool.finish()
        assert (outcome.exit_code, outcome.summary["reason"], outcome.summary["count"]) == (
            code,
            "interrupted",
            3,
        )


def test_the_deadline_of_a_relay_leaves_it_time_to_end_what_it_runs():
    outcome = relay("passing", "--end", "wait", "--timeout", "0.2")
    assert outcome.exit_code == 124
    assert outcome.summary["elapsed_ms"] >= 1000


def test_a_stream_that_is_whole_already_gets_nothing_added():
    outcome = relay("verbatim")
    assert outcome.exit_code == 0
    assert [event["type"] for event in parsed(outcome.stdout)] == ["aoi:meta", "aoi:summary"]
    assert parsed(outcome.stdout)[0]["tool"] == "other"
    assert relay("verbatim", output=None).stdout == outcome.stdout


def test_a_failure_before_the_whole_stream_is_an_ordinary_stream():
    outcome = relay("verbatim", "--fail")
    assert (outcome.exit_code, outcome.error["code"]) == (65, "NO_STREAM")


def test_a_stop_adds_nothing_to_a_whole_stream():
    with running("verbatim", "--wait", tool=RELAY) as tool:
        tool.event("aoi:summary")
        tool.signal(SIGINT)
        outcome = tool.finish()
    assert outcome.exit_code == 130
    assert len(parsed(outcome.stdout)) == 2


def test_a_reader_that_leaves_ends_a_relay_quietly():
    with running("passing", "--end", "wait", tool=RELAY) as tool:
        tool.event("note")
        outcome = tool.leave()
    assert (outcome.exit_code, outcome.stderr) == (141, "")


def test_a_verdict_goes_into_the_summary():
    outcome = relay("judged")
    assert (outcome.exit_code, outcome.summary["ok"]) == (65, False)
    assert outcome.summary["verdict"] == {"code": "BAD", "why": ""}
    assert "found wanting" in relay("judged", output=None).stderr


@requirement("aoi:17:commands", "aoi:14.1:mutation-obvious")
def test_the_manifest_says_what_passes_through_and_what_may_change():
    manifest = json.loads(relay("capabilities", output="json").stdout)
    entries = {entry["name"]: entry for entry in manifest["commands"]}
    assert (entries["passing"]["relays"], entries["passing"]["read_only"]) == (True, False)
    assert (entries["verbatim"]["relays"], entries["verbatim"]["read_only"]) == (True, True)
    assert "relays" not in entries["judged"]


def test_a_short_option_is_in_the_help_and_needs_its_value():
    assert "-e, --end TEXT" in relay("passing", "--help", output=None).stdout.decode()
    outcome = relay("passing", "-e")
    assert (outcome.exit_code, outcome.error["code"]) == (64, "MISSING_VALUE")


@requirement("aoi:11:sensitive-flags")
def test_a_conclusion_tells_no_secret():
    outcome = relay("judged", "--token", "s3cr3t-value")
    assert outcome.summary["verdict"] == {"code": "BAD", "why": "[redacted]"}
