"""`operable sessions`: which session of which process needs you, and what happens in one, read from files."""

from pathlib import Path

import pytest

from tests.cli.agents import Scene, steps
from tests.cli.drive import PROGRAM, operable, running
from tests.tool.drive import terminal

ASKS = steps({"call": "Bash", "args": {"command": "ls"}, "kind": "execute", "ask": True}, {"say": "done"})
HANGS = steps({"say": "one\ntwo"}, {"hang": True})


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    made.user()
    return made


def sessions(scene, *words, **options):
    return operable("sessions", *words, env=scene.env, cwd=scene.work, **options)


def test_sessions_are_listed_by_pages_with_what_they_used(scene):
    for name in ("ses_a", "ses_b"):
        scene("prompt", "scripted", "--prompt", f"I am {name}", "--session", name)

    whole = sessions(scene).of("listed_session")
    assert [each["id"] for each in whole] == ["ses_b", "ses_a"]
    assert (whole[0]["state"], whole[0]["last_line"], whole[0]["tokens_out"]) == (
        "ended",
        "You said: I am ses_b",
        5,
    )
    first = sessions(scene, "--limit", "1")
    assert first.of("listed_session") == whole[:1]
    assert sessions(scene, "--cursor", first.summary["next_cursor"]).of("listed_session") == whole[1:]
    assert [each["id"] for each in sessions(scene, "--search", "ses_a said").of("listed_session")] == [
        "ses_a"
    ]
    assert sessions(scene, "--state", "working").results == []
    assert sessions(scene, "--workspace", "default").of("listed_session") == whole
    assert sessions(scene, "--workspace", "other").of("listed_session") == []


def test_one_that_waits_for_an_answer_needs_you_and_is_watched_until_it_has_one(scene):
    prompt = ("prompt", "scripted", "--prompt", ASKS, "--session", "ses_asks", "--ask", "Bash")
    with scene.running(*prompt) as agent:
        asked = agent.event("agent-prompt")
        (waiting,) = sessions(scene, "--state", "needs_you").of("listed_session")
        assert (waiting["id"], waiting["questions"]) == ("ses_asks", 1)
        with running("sessions", "--watch", env=scene.env, cwd=scene.work) as board:
            assert board.event("listed_session")["state"] == "needs_you"
            assert scene("answer", "ses_asks", asked["toolCallId"], "--allow").exit_code == 0
            while board.event("listed_session")["state"] != "ended":
                pass


def test_a_person_answers_on_the_board_by_the_number_of_the_session(scene):
    prompt = ("prompt", "scripted", "--prompt", ASKS, "--session", "ses_asks", "--ask", "Bash")
    board = ("sessions", "--watch")
    with (
        scene.running(*prompt) as agent,
        terminal(*board, leader=True, tool=Path(PROGRAM), env={**scene.env, "COLUMNS": "100"}) as at,
    ):
        agent.event("agent-prompt")
        at.read_until("1 needs you")
        at.read_until("NEEDS YOU")
        at.type("2")  # no such number: the board goes on
        at.type("1")
        at.read_until("Allow it?")
        at.type("y\n")
        assert agent.event("text-delta")["text"] == "done"
        at.read_until("1 ended")
        at.type("\x03")


def test_a_session_of_another_process_is_followed_until_it_ends(scene):
    with scene.running("prompt", "scripted", "--prompt", HANGS, "--session", "ses_live") as agent:
        agent.event("text-delta")
        with running("sessions", "--attach", "ses_live", env=scene.env, cwd=scene.work) as attached:
            assert attached.event("text-delta")["text"] == "one\ntwo"
            agent.process.terminate()
            attached.event("turn-end")
            assert attached.event("aoi:summary")["ok"]


def test_following_goes_on_behind_a_number_and_stops_at_a_limit(scene):
    scene("prompt", "scripted", "--prompt", "one", "--session", "ses_a")
    whole = sessions(scene, "--attach", "ses_a").results
    assert [each["id"] for each in whole] == list(range(1, len(whole) + 1))
    assert sessions(scene, "--attach", "ses_a", "--after", "2").results == whole[2:]
    first = sessions(scene, "--attach", "ses_a", "--limit", "2")
    assert first.results == whole[:2]
    rest = sessions(scene, "--attach", "ses_a", "--cursor", first.summary["next_cursor"])
    assert rest.results == whole[2:]
    assert sessions(scene, "--attach", "nobody").summary["ok"] is False


def test_people_see_text_that_cannot_act_on_their_terminal(scene):
    scene("prompt", "scripted", "--prompt", steps({"say": "\x1b[31mred"}), "--session", "ses_a")
    for words in ((), ("--attach", "ses_a")):
        shown = sessions(scene, *words, output=None).stdout.decode()
        assert "red" in shown
        assert "\x1b" not in shown
