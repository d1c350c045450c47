"""`operable chat` with one message: what it prints, what it allows, and how it ends."""

import json
import os
import time

import pytest

from tests.cli.drive import operable, processes_with, running
from tests.tool.drive import SIGINT, eventually

ASK = 'script:\nthink hm\ncall Bash {"command": "touch x"}\nsay {result}'


@pytest.fixture
def chat(tmp_path):
    def call(*words, **options):
        env = {"OPERABLE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), **options.pop("env", {})}
        return operable("chat", *words, env=env, cwd=tmp_path, **options)

    return call


def types(done) -> list[str]:
    return [event["type"] for event in done.events]


def test_people_get_the_answer_on_stdout_and_nothing_else_there(chat):
    done = chat("--offline", "Say", "hello", output=None)

    assert (done.exit_code, done.stdout) == (0, b"You said: Say hello\n")


def test_people_see_thoughts_beside_the_answer_when_they_ask_for_them(chat):
    done = chat("--offline", "--thoughts", "script:\nthink hm\nsay hi", output=None)

    assert (done.exit_code, done.stdout, done.stderr) == (0, b"hi\n", "hm\n")


def test_machines_get_the_events_of_every_conversation(chat, tmp_path):
    done = chat("--offline", "--allow", "Bash", ASK)

    assert done.exit_code == 0
    assert types(done) == [
        "aoi:meta",
        "thought",
        "tool-call",
        "tool-result",
        "text-delta",
        "turn-end",
        "aoi:summary",
    ]
    call, result, _, end, summary = done.events[2:]
    assert (call["toolName"], call["kind"], call["arguments"]) == ("Bash", "execute", {"command": "touch x"})
    assert result["result"].startswith("Exit code: 0")
    assert (end["reason"], summary["denied"], summary["session"]) == ("completed", 0, call["sessionId"])
    assert (tmp_path / "x").exists()


@pytest.mark.parametrize("output", ["jsonl", None])
def test_what_nobody_can_be_asked_about_is_denied_and_told(chat, tmp_path, output):
    done = chat("--offline", ASK, output=output)

    assert done.exit_code == 0
    assert not (tmp_path / "x").exists()
    if output:
        assert [event["denied"] for event in done.events if event["type"] == "tool-result"] == [True]
        assert done.events[-2]["code"] == "ASKS_DENIED"
        assert done.events[-1]["denied"] == 1
    else:
        assert b"Tool denied" in done.stdout
        assert "no user could be asked" in done.stderr


@pytest.mark.parametrize("words", [["--auto-approve"], ["--mode", "yolo"], ["--allow", "Bash"]])
def test_what_was_allowed_beforehand_is_done(chat, tmp_path, words):
    assert chat("--offline", *words, ASK).exit_code == 0
    assert (tmp_path / "x").exists()


def test_edits_are_shown_as_diffs_to_people(chat, tmp_path):
    write = json.dumps({"file_path": "a.txt", "content": "one"})
    edit = json.dumps({"file_path": "a.txt", "old_string": "one", "new_string": "two"})

    done = chat(
        "--offline",
        "--mode",
        "auto_edit",
        f"script:\ncall Write {write}\nsay .\ncall Edit {edit}\nsay ok",
        output=None,
    )

    assert "     1 - one\n     1 + two\n" in done.stderr
    assert (tmp_path / "a.txt").read_text() == "two"


@pytest.mark.parametrize(
    "step, status, category", [("fail! busy", 75, "temporary"), ("fail no such model", 74, "io")]
)
def test_the_exit_status_says_how_it_went(chat, step, status, category):
    done = chat("--offline", f"script:\nsay so far\n{step}")

    assert done.exit_code == status
    assert done.events[-2]["category"] == category
    assert [event["reason"] for event in done.events if event["type"] == "turn-end"] == ["error"]


def test_a_message_is_read_from_standard_input(chat):
    done = chat("--offline", "-", input=b"from a pipe", output=None)

    assert done.stdout == b"You said: from a pipe\n"


@pytest.mark.parametrize("words, code", [([], "INTERACTIVE_REQUIRED"), (["-"], "EMPTY_MESSAGE")])
def test_without_a_message_and_a_person_there_is_nothing_to_do(chat, words, code):
    done = chat("--offline", *words)

    assert done.exit_code != 0
    assert done.events[-2]["code"] == code


def test_without_a_key_it_says_which(chat):
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "PROVIDER"), "")

    done = chat("hello", env=keys)

    assert (done.exit_code, done.events[-2]["code"]) == (78, "NO_PROVIDER")
    assert "ANTHROPIC_API_KEY" in done.events[-2]["message"]


def test_a_conversation_is_taken_up_again(chat):
    first = chat("--offline", "--session-id", "mine", "one")
    again = chat("--offline", "--session-id", "mine", "one")
    second = chat("--offline", "--resume", "latest", "two")
    none = chat("--offline", "--no-session", "three")

    assert [done.exit_code for done in (first, second, none)] == [0, 0, 0]
    assert again.events[-2]["code"] == "SESSION_EXISTS"
    assert second.events[-1]["session"] == "mine"
    assert none.events[-1]["session"] == "unsaved"


@pytest.mark.parametrize("words", [["--workspace", "/no/such"], ["--effort", "much"], ["--resume", "nobody"]])
def test_what_cannot_be_had_is_refused_before_anything_is_said(chat, words):
    done = chat("--offline", *words, "hello")

    assert done.exit_code != 0
    assert types(done) == ["aoi:meta", "aoi:error", "aoi:summary"]


def test_an_interrupt_ends_the_turn_and_what_it_started(tmp_path):
    seconds = f"600.{os.getpid()}{time.monotonic_ns()}"  # nobody else sleeps that long
    command = json.dumps({"command": f"exec sleep {seconds}"})
    env = {"OPERABLE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    words = ("--offline", "--auto-approve", f"script:\nsay .\ncall Bash {command}\nsay never")
    with running("chat", *words, env=env, cwd=tmp_path) as process:
        process.event("tool-call")
        eventually(lambda: processes_with(seconds), "the command")
        process.signal(SIGINT)
        done = process.finish()

    assert done.exit_code == 130
    assert done.events[-1]["reason"] == "interrupted"
    eventually(lambda: not processes_with(seconds), "the end of the command")
