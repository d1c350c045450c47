"""A person in a chat: `operable chat` on a real terminal."""

import signal
import sys
from pathlib import Path

import pytest

from tests.tool.drive import terminal

PROGRAM = Path(sys.executable).parent / "operable"
CTRL_C, CTRL_D = "\x03", "\x04"
READY = "\x1b[?2004h"  # a line can be typed


@pytest.fixture
def chat(tmp_path):
    def start(*words, **env):
        surroundings = {
            "OPERABLE_HOME": str(tmp_path / "state"),
            "HOME": str(tmp_path),
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "COLUMNS": "100",
            **env,
        }
        return terminal(
            "chat",
            "--offline",
            "--workspace",
            str(tmp_path),
            *words,
            tool=PROGRAM,
            leader=True,
            env=surroundings,
        )

    return start


def lines(*those: str) -> str:
    """A message of several lines, as it is typed."""
    return "\\\r".join(("script:", *those)) + "\r"


def after(screen, mark: str) -> None:
    """Wait for what comes next, and forget what came before."""
    screen.read_until(mark)
    screen.screen = screen.screen.partition(mark)[2]


def leave(person):
    after(person, READY)
    person.type(CTRL_D)
    return person.finish()


def test_a_conversation_goes_on_turn_after_turn_until_ctrl_d(chat):
    with chat() as person:
        after(person, READY)
        person.type("hello\r")
        after(person, "You said: hello")
        person.type("again\r")
        after(person, "You said: again")
        done = leave(person)

    assert done.exit_code == 0


def test_a_change_is_shown_in_colour_and_made_when_it_is_allowed(chat, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with chat("--allow", "Read") as person:
        after(person, READY)
        person.type(
            lines(
                'call Read {"file_path": "a.txt"}',
                "say now",
                'call Edit {"file_path": "a.txt", "old_string": "two", "new_string": "three"}',
                "repeat 1",
                "say finished{n}",
            )
        )
        after(person, "Edit a.txt")
        person.read_until("Allow it?")
        asked = person.screen
        person.type("y\r")
        after(person, "finished1")
        person.type("/quit\r")
        done = person.finish()

    assert "\x1b[31m  -two" in asked
    assert "\x1b[32m  +three" in asked
    assert (tmp_path / "a.txt").read_text() == "one\nthree\n"
    assert done.exit_code == 0


def test_no_with_a_reason_reaches_the_model_and_always_is_asked_once(chat, tmp_path):
    with chat() as person:
        after(person, READY)
        person.type(lines('call Bash {"command": "touch x"}', "say {result}"))
        after(person, "Allow it?")
        person.type("perhaps\r")
        after(person, "not one of the answers")
        after(person, "Allow it?")
        person.type("n not today\r")
        after(person, "Tool denied: not today")
        person.type(
            lines(
                'call Bash {"command": "echo o\'\'ne"}',
                "say .",
                'call Bash {"command": "echo t\'\'wo"}',
                "say {result}",
            )
        )
        after(person, "Allow it?")
        person.type("a\r")
        person.read_until("STDOUT:\r\ntwo")
        second = person.screen.rpartition("● Run")[2]
        done = leave(person)

    assert not (tmp_path / "x").exists()
    assert "Allow it?" not in second
    assert done.exit_code == 0


@pytest.mark.parametrize("word", ["", "Bash"])
def test_all_of_a_long_command_is_shown_before_it_is_allowed(chat, tmp_path, word):
    line = f"true {word} {'x' * 300}; touch the-end"
    with chat() as person:
        after(person, READY)
        person.type(lines(f'call Bash {{"command": "{line}", "shell": "sh"}}', "say never"))
        after(person, "● Run with sh: true")
        person.read_until("Allow it?")
        asked = person.screen
        person.type("q\r")
        after(person, "Stopped.")
        leave(person)

    assert "more characters)" in asked
    assert "; touch the-end" in asked
    assert not (tmp_path / "the-end").exists()


def test_quitting_a_question_stops_the_turn_and_not_the_chat(chat, tmp_path):
    with chat() as person:
        after(person, READY)
        for answer in ("q\r", CTRL_C):
            person.type(lines('call Bash {"command": "touch x"}', "say never"))
            after(person, "Allow it?")
            person.type(answer)
            after(person, "Stopped.")
        person.type("still there\r")
        after(person, "You said: still there")
        done = leave(person)

    assert done.exit_code == 0
    assert not (tmp_path / "x").exists()


def test_ctrl_c_stops_what_is_being_done_and_the_chat_goes_on(chat):
    with chat() as person:
        after(person, READY)
        person.type(lines("repeat 1", "say begun{n}", "wait 600", "say never"))
        after(person, "begun1")
        person.type(CTRL_C)
        after(person, "Stopped.")
        after(person, READY)
        person.type(CTRL_C)
        after(person, "Ctrl-D leaves.")
        person.type("and now\r")
        after(person, "You said: and now")
        done = leave(person)

    assert done.exit_code == 0


def test_what_is_for_the_chat_itself_does_not_go_to_the_agent(chat, tmp_path):
    with chat() as person:
        after(person, READY)
        person.type("/help\r")
        after(person, "begin a new conversation")
        person.type("/mode nonsense\r")
        after(person, "A mode is one of")
        person.type("/mode auto_edit\r")
        after(person, "mode: auto_edit")
        person.type(lines('call Write {"file_path": "a.txt", "content": "x"}', "repeat 1", "say written{n}"))
        after(person, "written1")
        person.type("/model other\r")
        after(person, "model: other")
        person.type("/nothing\r")
        after(person, "There is no /nothing")
        person.type("/clear\r")
        after(person, "A new conversation.")
        person.type("/mode\r")
        after(person, "mode: auto_edit")
        person.type("/quit\r")
        done = person.finish()

    assert done.exit_code == 0
    assert (tmp_path / "a.txt").read_text() == "x"
    sessions = list((tmp_path / "state").rglob("state.json"))
    assert len(sessions) == 2


def test_a_model_cannot_act_on_the_terminal(chat):
    with chat() as person:
        after(person, READY)
        person.type("look\x16\x1b[2Jhere\r")
        person.read_until("You said:")
        after(person, "here")
        leave(person)
        answer = person.screen.partition("You said:")[2]

    assert "\x1b[2J" not in answer.partition("here")[0]


def test_a_single_question_is_asked_at_the_terminal_and_its_outcome_is_the_exit_status(chat, tmp_path):
    with chat('script:\ncall Bash {"command": "touch x"}\nsay done') as person:
        after(person, "Allow it?")
        person.type("y\r")
        allowed = person.finish()
    with chat('script:\ncall Bash {"command": "touch y"}\nsay done') as person:
        after(person, "Allow it?")
        person.type("q\r")
        stopped = person.finish()

    assert (allowed.exit_code, stopped.exit_code) == (0, 130)
    assert (tmp_path / "x").exists()
    assert not (tmp_path / "y").exists()


def test_ctrl_c_ends_a_single_question(chat):
    with chat("script:\nsay begun\nwait 600") as person:
        person.read_until("begun")
        person.type(CTRL_C)
        done = person.finish()

    assert done.exit_code == 128 + signal.SIGINT


def test_without_the_libraries_for_people_it_works_plainly(chat, tmp_path):
    absent = tmp_path / "absent"
    for name in ("rich", "prompt_toolkit"):
        (absent / name).mkdir(parents=True)
        (absent / name / "__init__.py").write_text("raise ImportError")
    with chat(PYTHONPATH=str(absent)) as person:
        after(person, "/help")
        person.type("hello\n")
        after(person, "You said: hello")
        person.type(lines('call Bash {"command": "touch x"}', "repeat 1", "say done{n}").replace("\r", "\n"))
        after(person, "Allow it?")
        person.type("n\n")
        after(person, "done1")
        after(person, "> ")
        person.type(CTRL_D)
        done = person.finish()

    assert done.exit_code == 0
    assert not (tmp_path / "x").exists()
