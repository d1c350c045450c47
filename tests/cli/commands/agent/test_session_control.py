"""`operable agent kill`, `interrupt`, `export` and `prune`: sessions of other processes, stopped and removed."""

import os
from pathlib import Path

import pytest

from operable.host.session.registry import Registry
from tests.cli.agents import steps

HANGS = steps({"say": "Working."}, {"hang": True})


@pytest.fixture
def working(scene):
    """A session of another process in the middle of a turn."""
    scene.user()
    with scene.running("prompt", "scripted", "--prompt", HANGS, "--session", "ses_works") as prompt:
        prompt.event("text-delta")
        yield prompt


def test_a_running_session_is_killed_from_another_process(scene, working):
    plan = scene("kill", "ses_works", "--dry-run").of("aoi:plan")
    assert [each["target"] for each in plan] == ["ses_works"]

    (stopped,) = scene("kill", "ses_works").of("agent_stopped")

    assert (stopped["id"], stopped["request"], stopped["status"]) == ("ses_works", "kill", "killed")
    outcome = working.finish()
    assert outcome.exit_code != 0
    assert [each["reason"] for each in outcome.of("turn-end")] == ["cancelled"]
    assert scene("sessions").results[0]["status"] == "killed"
    assert scene("kill", "ses_works").of("agent_stopped") == []


def test_a_turn_is_interrupted_from_another_process_and_those_that_follow_see_it(scene, working):
    (stopped,) = scene("interrupt", "ses_works").of("agent_stopped")

    assert stopped["request"] == "interrupt"
    outcome = working.finish()
    assert outcome.error["code"] == "TURN_CANCELLED"
    events = scene("logs", "ses_works").results
    assert [each["data"] for each in events if each.get("code") == "requested"] == [{"request": "interrupt"}]


def test_a_session_that_has_ended_or_is_unknown_is_said(scene):
    scene.user()
    scene("prompt", "scripted", "--prompt", steps({"say": "Hi"}), "--session", "ses_one")

    assert scene("interrupt", "ses_one").exit_code == 0
    assert scene("interrupt", "ses_one").of("agent_stopped") == []
    assert scene("kill", "ses_none").error["code"] == "NO_SUCH_SESSION"


def test_what_is_no_request_is_taken_away_and_does_nothing(scene, working):
    home = Registry(str(scene.home / "state" / "agents")).session("ses_works")
    (Path(home.folder) / "request").write_text("nonsense")
    (stopped,) = scene("interrupt", "ses_works").of("agent_stopped")

    assert stopped["request"] == "interrupt"
    assert not os.path.exists(os.path.join(home.folder, "request"))


def test_what_was_spoken_is_exported_as_markdown(scene):
    scene.user()
    turn = steps({"say": "I look."}, {"call": "Read", "kind": "read"}, {"say": "An answer.\u001b[31m"})
    scene("prompt", "scripted", "--prompt", turn, "--session", "ses_one")

    (export,) = scene("export", "ses_one").of("agent_export")
    shown = scene("export", "ses_one", output=None).stdout.decode()

    assert export["text"].startswith("# ses_one\n\nscripted, ")
    assert "## scripted\n\nI look.\n\nAn answer.\x1b[31m\n" in export["text"]
    assert shown == export["text"].replace("\x1b", "·")
    assert "## You\n\n" in export["text"]


def test_only_sessions_whose_own_time_or_the_age_is_over_are_pruned(scene, working):
    for name, more in (
        ("ses_short", ["--keep-for", "0s"]),
        ("ses_long", ["--keep-for", "90d"]),
        ("ses_old", []),
    ):
        scene("prompt", "scripted", "--prompt", steps({"say": "Hi"}), "--session", name, *more)

    assert [each["target"] for each in scene("prune", "--dry-run").of("aoi:plan")] == ["ses_short"]
    elsewhere = str(scene.home)
    assert scene("prune", "--older-than", "0s", "--workspace", elsewhere, "--dry-run").of("aoi:plan") == []
    refused = scene("prune")
    assert refused.exit_code != 0
    gone = scene("prune", "--older-than", "0s", "--confirm").of("agent_pruned")

    assert sorted(each["id"] for each in gone) == ["ses_old", "ses_short"]
    assert all(each["bytes"] > 0 for each in gone)
    assert sorted(each["id"] for each in scene("sessions").results) == ["ses_long", "ses_works"]
    assert scene("prune", "--older-than", "soon").error["code"] == "AGE_INVALID"
