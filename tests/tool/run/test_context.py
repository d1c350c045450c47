"""Asking a person: at a terminal in human mode, and never otherwise."""

import json
from pathlib import Path

import pytest

from tests.requirement import requirement
from tests.tool.drive import SIGINT, SIGTERM, parsed, run, running, terminal
from tests.tool.sample_relay import LINES


def test_a_person_at_a_terminal_is_asked():
    with terminal("asks", "--how", "ask") as tool:
        tool.read_until("name? ")
        tool.type("Ada\n")
        outcome = tool.finish()
    assert outcome.exit_code == 0
    assert "Ada" in outcome.stderr


def test_a_person_is_asked_for_a_secret_that_is_never_shown():
    with terminal("asks", "--how", "password") as tool:
        tool.read_until("name? ")
        tool.type("open sesame\n")
        outcome = tool.finish()
    assert outcome.exit_code == 0
    assert "open sesame" not in outcome.stderr
    assert "[redacted]" in outcome.stderr


@pytest.mark.parametrize("how", ["ask", "password"])
def test_a_person_who_ends_the_input_gets_an_error_with_a_hint(how):
    with terminal("asks", "--how", how) as tool:
        tool.read_until("name? ")
        tool.type("\x04")
        outcome = tool.finish()
    assert outcome.exit_code == 77
    assert "A person is needed" in outcome.stderr


@requirement("aoi:1.3:interactive-required", "aoi:1.3:never-prompts")
@pytest.mark.parametrize("how", ["input", "ask", "password", "getpass"])
def test_in_machine_mode_a_terminal_is_not_waited_for(how):
    """Nobody answers here: a tool that asked would never end."""
    with terminal("asks", "--how", how, output="jsonl") as tool:
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (77, "INTERACTIVE_REQUIRED")


@requirement("aoi:1.3:never-prompts")
def test_in_machine_mode_a_child_cannot_reach_the_terminal_either():
    with terminal("asks", "--how", "child", output="jsonl") as tool:
        outcome = tool.finish()
    assert outcome.results == [{"type": "said", "text": ""}]


@requirement("aoi:1.3:interactive-required")
@pytest.mark.parametrize("how", ["input", "ask"])
def test_in_machine_mode_the_leader_of_a_session_does_not_wait_either(how):
    with terminal("asks", "--how", how, output="jsonl", leader=True) as tool:
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (77, "INTERACTIVE_REQUIRED")


@pytest.mark.parametrize("leader", [True, False])
def test_in_machine_mode_control_c_at_the_terminal_still_interrupts(leader, tmp_path):
    tool_file = tmp_path / "waits.py"
    tool_file.write_text(
        "import sys, time\n"
        "from operable.tool import Tool\n"
        "tool = Tool('waits', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    print('ready', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
        "tool.main()\n"
    )
    with terminal("go", output="jsonl", leader=leader, tool=tool_file) as tool:
        tool.read_until("ready")
        tool.type("\x03")
        outcome = tool.finish()
    assert outcome.summary["reason"] == "interrupted"
    assert outcome.exit_code in (130, -2)  # the shell itself is interrupted too


@pytest.mark.parametrize("how", ["ask", "password", "input", "getpass"])
def test_with_nobody_at_a_terminal_human_mode_does_not_wait_either(how):
    outcome = run("asks", "--how", how, output=None)
    assert outcome.exit_code == 77
    assert "A person is needed" in outcome.stderr
    assert "hint: " in outcome.stderr


def test_a_command_knows_its_circumstances(tmp_path):
    tool_file = tmp_path / "knows.py"
    tool_file.write_text(
        "from operable.tool import Tool, Context, Event\n"
        "tool = Tool('knows', version='1', schema_name='e', schema_version='2.0.0')\n"
        "@tool.command()\n"
        "def go(*, context: Context):\n"
        "    names = ('tool', 'command', 'machine', 'trace_id', 'schema_version', 'debug', 'dry_run', 'idempotency_key', 'person')\n"
        "    yield {'type': 'known'} | {name: getattr(context, name) for name in names}\n"
        "tool.main()\n"
    )
    outcome = run("go", "--debug", tool=tool_file)
    assert outcome.results == [
        {
            "type": "known",
            "tool": "knows",
            "command": "go",
            "machine": True,
            "trace_id": outcome.events[0]["trace_id"],
            "schema_version": "2.0.0",
            "debug": True,
            "dry_run": False,
            "idempotency_key": None,
            "person": False,
        }
    ]


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
