"""A person and the built-in agent at a terminal: `operable chat` in tmux."""

import json
from contextlib import contextmanager

import pytest

from tests.cli.drive import PROGRAM
from tests.cli.terminal.tmux import at_terminal

pytestmark = pytest.mark.needs("tmux")
OFFLINE = "/help says"


@pytest.fixture
def chat(tmp_path):
    (tmp_path / "work").mkdir()

    @contextmanager
    def start(*words, **env):
        home = {"OPERABLE_HOME": str(tmp_path / "state"), **env}
        with at_terminal("chat", "--offline", *words, folder=tmp_path / "work", **home) as person:
            if "--resume" not in words:
                person.wait(OFFLINE)
            yield person

    return start


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


def play(person, *steps):
    """A message that makes the scripted model do this."""
    person.paste("\n".join(("script:", *steps)))
    person.press("Enter")


def call(tool, **arguments):
    return f"call {tool} {json.dumps(arguments)}"


def test_a_conversation_goes_on_turn_after_turn_until_ctrl_d(chat):
    with chat() as person:
        person.type("hello")
        person.wait("You said: hello")
        person.type("again")
        person.wait("You said: again")
        person.press("C-d")
        person.wait("exit status 0")


def test_markdown_is_shown_as_it_is_meant(chat):
    with chat() as person:
        play(
            person, r"say # Title\n\nSome **bold** word.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nThe end."
        )
        shown = person.wait("The end.", times=2)
        raw = person.call("capture-pane", "-p", "-e")

    assert "Some bold word." in shown
    assert " • one" in shown
    assert "x = 1" in shown
    assert "\x1b[1mbold" in raw


def test_a_change_is_shown_with_the_numbers_of_its_lines_and_made_when_it_is_allowed(chat, work):
    (work / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    with chat() as person:
        play(
            person,
            call("Read", file_path="a.txt"),
            "say now",
            call("Edit", file_path="a.txt", old_string="line 15", new_string="line XV"),
            "repeat 1",
            "say finished{n}",
        )
        asked = person.wait("Allow it?")
        assert "    15 - line 15\n    15 + line XV\n" in asked
        assert "    12   line 12\n" in asked
        assert "line 11" not in asked
        person.type("y")
        person.wait("finished1")

    assert "line XV" in (work / "a.txt").read_text()


def test_reading_in_the_workspace_needs_no_question_and_outside_it_does(chat, work, tmp_path):
    (work / "in.txt").write_text("inside\n")
    (tmp_path / "out.txt").write_text("outside\n")
    with chat() as person:
        play(person, call("Read", file_path="in.txt"), "say {result}", call("Read", file_path="../out.txt"))
        asked = person.wait("Allow it?").replace("\n", " ")

    assert "inside" in asked
    assert "outside the workspace" in " ".join(asked.split())


def test_what_always_covers_is_said_and_asked_once(chat, work):
    with chat() as person:
        play(
            person,
            call("Bash", command="echo o''ne"),
            call("Bash", command="echo t''wo"),
            "say and",
            call("Bash", command="echo th''ree"),
            "repeat 1",
            "say finished{n}",
        )
        assert "execute:echo * (with any arguments, or none), in this session" in person.wait("Allow it?")
        person.type("a")
        shown = person.wait("finished1")

    assert shown.count("execute:echo *") == 1
    assert all(f"  {word}\n" in shown for word in ("one", "two", "three"))


def test_no_with_a_reason_reaches_the_model(chat, work):
    with chat() as person:
        play(person, call("Bash", command="touch x"), "say {result}")
        person.wait("Allow it?")
        person.type("perhaps")
        person.wait("not one of the answers")
        person.type("n not today")
        person.wait("Tool denied: not today")

    assert not (work / "x").exists()


def test_all_of_a_long_command_is_shown_before_it_is_allowed(chat, work):
    line = f"true {'x' * 300}\ntouch the-end"
    with chat() as person:
        play(person, call("Bash", command=line, shell="sh"), "say never")
        asked = person.wait("Allow it?")
        person.type("q")
        person.wait("Stopped.")

    assert "touch the-end" in asked
    assert "x" * 300 in asked.replace("\n", "")
    assert "shell: sh" in asked
    assert not (work / "the-end").exists()


def test_what_is_typed_while_a_turn_runs_waits_and_is_not_lost(chat):
    with chat() as person:
        play(person, "say begun\\n\\n", "wait 2", "say over")
        person.wait("begun")
        person.type("and then")
        person.wait("» waits: and then")
        person.type("half a message", enter=False)
        shown = person.wait("You said: and then")
        assert shown.index("over") < shown.index("You said: and then")
        person.press("Enter")
        person.wait("You said: half a message")


def test_what_is_being_typed_is_no_answer_to_a_question_and_comes_back(chat, work):
    with chat() as person:
        play(person, "say begun\\n\\n", "wait 2", call("Bash", command="touch x"), "repeat 1", "say done{n}")
        person.wait("begun")
        person.type("yes and no", enter=False)
        person.wait("Allow it?")
        person.press("Enter")
        person.wait("not one of the answers")
        assert not (work / "x").exists()
        person.type("n")
        person.wait("done1")
        person.wait("> yes and no")
        person.press("Enter")
        person.wait("You said: yes and no")


def test_ctrl_c_stops_the_turn_and_twice_leaves(chat):
    with chat() as person:
        play(person, "repeat 1", "say begun{n}\\n\\n", "wait 600", "say never")
        person.wait("begun1")
        person.type("later", enter=False)
        person.press("Enter")
        person.wait("» waits: later")
        person.press("C-c")
        person.wait("Stopped.")
        person.wait("> later")  # it was not sent, and is there to be changed
        person.press("Enter")
        person.wait("You said: later")
        person.idle()
        person.press("C-c")
        person.wait("Ctrl-C again leaves.")
        person.press("C-c")
        person.wait("exit status 0")


def test_ctrl_c_at_a_question_stops_the_turn(chat, work):
    with chat() as person:
        play(person, call("Bash", command="touch x"), "say never")
        person.wait("Allow it?")
        person.press("C-c")
        person.wait("Stopped.")
        person.type("still there")
        person.wait("You said: still there")

    assert not (work / "x").exists()


def test_the_output_of_a_command_is_live_and_then_folded(chat):
    with chat("--mode", "yolo") as person:
        play(
            person, call("Bash", command="seq 30; echo li''ve; sleep 3; seq 31 60"), "repeat 1", "say over{n}"
        )
        live = person.wait("  live\n")
        assert "lines above" in live
        assert "over1" not in live.rpartition("say over{n}")[2]
        shown = person.wait("over1")
        assert "lines folded: /output shows all" in shown
        assert "\n  45\n" not in shown
        person.type("/output")
        person.wait("\n45\n")


def test_the_last_turns_edits_are_undone_but_not_what_a_person_changed_since(chat, work):
    (work / "kept.txt").write_text("one\r\n")
    (work / "mine.txt").write_text("mine\n")
    with chat("--mode", "yolo") as person:
        play(
            person,
            call("Write", file_path="kept.txt", content="two\n"),
            call("Write", file_path="mine.txt", content="theirs\n"),
            call("Bash", command="mkdir -p deep/er; echo new > deep/er/made.txt"),
            "repeat 1",
            "say written{n}",
        )
        person.wait("written1")
        person.idle()
        (work / "mine.txt").write_text("mine again\n")
        person.type("/undo")
        shown = person.wait("changed since: mine.txt")
        person.type("what now")
        person.wait("The user has undone the changes of your last turn")

    assert "as before: kept.txt" in shown
    assert (work / "kept.txt").read_bytes() == b"one\r\n"
    assert (work / "mine.txt").read_text() == "mine again\n"
    assert not (work / "deep").exists()
    assert not (work / ".git").exists()


def test_a_command_of_the_persons_own_is_run_and_told_to_the_agent(chat):
    with chat() as person:
        person.type("!echo by ha''nd; exit 3")
        person.wait("exit status 3")
        person.type("look")
        shown = person.wait("You said: [The user ran")

    assert "  ✗ by hand\n  exit status 3\n" in shown


def test_a_named_image_reaches_the_model_and_a_word_does_not(chat, work):
    (work / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 20)
    with chat("--session-id", "seen") as person:
        person.type("look at @dot.png, @nobody", enter=False)
        person.press("Enter")
        person.wait("[Attached files]")
        person.press("C-d")
        person.wait("exit status 0")

    (kept,) = (work.parent / "state").rglob("state.json")
    blocks = json.loads(kept.read_text())["turns"][0]["blocks"]
    assert [block["type"] for block in blocks] == ["text", "image"]
    assert blocks[0]["text"].endswith("[Attached files]\ndot.png")


def test_words_behind_a_slash_and_files_are_completed(chat, work):
    (work / "a-long-name.txt").write_text("")
    with chat() as person:
        person.type("/mo", enter=False)
        person.wait("another model")
        person.press("C-c")
        person.type("/mode au", enter=False)
        person.wait("auto_edit")
        person.press("Tab")
        person.wait("> /mode auto_edit")
        person.press("Enter", "Enter")
        person.wait("mode: auto_edit")
        person.type("see @a-l", enter=False)
        # A Tab while the menu is being made is lost: prompt_toolkit makes one at a time.
        person.wait("a-long-name.txt")
        person.press("Tab")
        person.wait("> see @a-long-name.txt")


def test_what_was_typed_is_there_in_the_next_chat(chat):
    with chat() as person:
        person.type("remember me")
        person.wait("You said: remember me")
        person.press("C-d")
        person.wait("exit status 0")
    with chat() as person:
        person.press("Up")
        person.wait("> remember me")


def test_an_earlier_session_is_picked_by_its_last_words(chat):
    for name in ("first", "second"):
        with chat() as person:
            person.type(f"the {name} one")
            person.wait(f"You said: the {name} one")
            person.press("C-d")
            person.wait("exit status 0")
    with chat("--resume", "pick") as person:
        shown = person.wait("Go on with which one?")
        assert shown.index("… You said: the second one") < shown.index("… You said: the first one")
        person.type("2")
        person.wait(OFFLINE)
        person.press("C-d")
        person.wait("exit status 0")


def test_the_line_below_says_model_mode_tokens_and_context(chat):
    with chat("--mode", "auto-edit") as person:
        person.type("hello")
        person.wait("You said: hello")
        person.wait("offline-script · auto_edit · 1 in, 3 out · context 0% of 200k")


def test_the_plan_of_the_agent_is_shown(chat):
    entries = [{"content": "look", "status": "completed"}, {"content": "write", "status": "in_progress"}]
    with chat() as person:
        play(person, call("UpdatePlan", entries=entries), "repeat 1", "say planned{n}\\n\\n", "wait 1")
        person.wait("planned1")
        shown = person.wait("◐ write")

    assert "☑ look" in shown


def test_a_model_cannot_act_on_the_terminal(chat, work):
    (work / "script").write_text(
        "say before \x1b[2J\x1b]0;owned\x07 **b\x1b[31m** [a](http://x\x1b]8;;y) \x9b2J after\\n\n"
        + call("Bash", command="printf '\\033[2J\\033]0;owned\\007%s' out\x1b[2J")
        + "\nsay over\n"
    )
    with chat("--mode", "yolo", OPERABLE_OFFLINE_SCRIPT=str(work / "script")) as person:
        person.type("hello")
        shown = person.wait("over")
        title = person.call("display-message", "-p", "#{pane_title}")

    assert "before ·[2J" in shown
    assert OFFLINE in shown
    assert "owned" not in title


def test_what_is_for_the_chat_itself_does_not_go_to_the_agent(chat, tmp_path):
    with chat() as person:
        person.type("/help")
        person.wait("a new conversation; the old one is kept")
        person.type("/mode nonsense")
        person.wait("A mode is one of")
        person.type("/model other")
        person.wait("model: other")
        person.type("/nothing")
        person.wait("There is no /nothing")
        person.type("hello")
        person.wait("You said: hello")
        person.type("/clear")
        person.wait("A new conversation.")
        person.type("/quit")
        person.wait("exit status 0")

    assert len(list((tmp_path / "state").rglob("state.json"))) == 2


def test_a_terminal_on_which_nothing_moves_has_lines(chat, work):
    with chat(TERM="dumb") as person:
        person.type("hello")
        person.wait("You said: hello")
        person.type("!echo by ha''nd")
        person.wait("by hand")
        person.press("C-d")
        person.wait("exit status 0")


def test_without_a_line_that_stays_a_backslash_announces_another_line(chat, work):
    with chat(TERM="dumb") as person:
        person.type("script:\\")
        person.type("say first\\")
        person.type("say and second")
        person.wait("firstand second")
        person.press("C-d")
        person.wait("exit status 0")


def test_ctrl_z_leaves_to_the_shell_and_fg_comes_back(chat, work):
    with chat() as person:
        person.call("new-window", "-c", str(work), "bash --norc -i")
        person.wait("bash-")
        person.type(f"{PROGRAM} chat --offline")
        person.wait(OFFLINE)
        person.type("half", enter=False)
        person.wait("> half")

        person.press("C-z")

        person.wait("Stopped")
        person.type("echo at the sh''ell")
        person.wait("at the shell")
        person.type("fg")
        person.wait("> half")
        person.type(" a message")
        person.wait("You said: half a message")
