"""`operable agent chat`: a conversation at a terminal, with approvals there, or from a file of messages."""

from contextlib import contextmanager

import pytest

from tests.cli.agents import steps
from tests.cli.terminal.tmux import at_terminal


@contextmanager
def chat(scene, *words):
    with at_terminal("agent", "chat", "scripted", *words, folder=scene.work, **scene.env) as person:
        person.wait("/help says")
        yield person


def told(person, text):
    person.paste(text)
    person.press("Enter")


@pytest.mark.needs("tmux")
def test_a_person_talks_and_answers_what_the_agent_asks(scene, tmp_path):
    scene.user()
    touched = tmp_path / "touched"
    asks = steps(
        {"call": "Edit", "kind": "edit", "args": {"path": "a"}, "ask": True, "touch": str(touched)},
        {"say": "done with it"},
    )

    with chat(scene) as person:
        person.type("hello")
        person.wait("You said: hello")
        told(person, asks)
        asked = person.wait("Allow it?")
        assert "this call with exactly these arguments, in this session" in asked
        assert not touched.exists()
        person.type("y")
        person.wait("\ndone with it")
        person.type("/quit")
        person.wait("exit status 0")

    assert touched.exists()
    assert scene.session()["turns"] == 2


@pytest.mark.needs("tmux")
def test_what_a_person_denies_does_not_happen_and_the_conversation_goes_on(scene, tmp_path):
    scene.user()
    touched = tmp_path / "touched"
    asks = steps(
        {
            "call": "Edit",
            "kind": "edit",
            "args": {"path": "a"},
            "ask": True,
            "touch": str(touched),
            "denied": [{"say": "as you wish"}],
        }
    )

    with chat(scene) as person:
        told(person, asks)
        person.wait("Allow it?")
        person.type("nonsense")
        person.wait("not one of the answers")
        person.type("n")
        person.wait("\nas you wish")
        person.press("C-d")
        person.wait("exit status 0")

    assert not touched.exists()
    record = next(each for each in scene("audit").results if each["action"] == "agent.decision")
    assert (record["decision"], record["policy"]) == ("deny", "terminal")


@pytest.mark.needs("tmux")
def test_who_is_faster_elsewhere_answers_for_the_person(scene):
    scene.user()
    asks = steps(
        {"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True}, {"say": "it ran"}
    )

    with chat(scene) as person:
        told(person, asks)
        person.wait("Allow it?")
        question = scene("approvals").of("agent_question")[0]
        assert scene("answer", question["session"], question["question"], "--allow").exit_code == 0
        person.wait("answered elsewhere")
        person.wait("\nit ran")
        person.press("C-d")
        person.wait("exit status 0")

    record = next(each for each in scene("audit").results if each["action"] == "agent.decision")
    assert (record["decision"], record["policy"]) == ("allow", "operable agent answer")


@pytest.mark.needs("tmux")
def test_a_turn_that_fails_is_told_and_the_next_one_goes_on(scene):
    scene.user()

    with chat(scene) as person:
        told(person, steps({"error": "boom"}))
        person.wait("✗ boom")
        person.type("again")
        person.wait("You said: again")
        person.press("C-d")
        person.wait("exit status 0")


@pytest.mark.needs("tmux")
def test_reading_in_the_workspace_needs_no_question_unless_a_rule_says_so(scene):
    scene.user()
    (scene.work / "a").write_text("x")
    reads = steps(
        {"call": "Read", "kind": "read", "args": {"path": "a"}, "ask": True, "result": "x"},
        {"say": "it was read"},
    )
    outside = steps(
        {"call": "Read", "kind": "read", "args": {"path": "/etc/hosts"}, "ask": True}, {"say": "never"}
    )

    with chat(scene) as person:
        told(person, reads)
        assert "Allow it?" not in person.wait("\nit was read")
        told(person, outside)
        person.wait("Allow it?")
        person.press("C-c")
        person.wait("Stopped.")
    with chat(scene, "--ask", "kind:read") as person:
        told(person, reads)
        person.wait("Allow it?")


@pytest.mark.needs("tmux")
def test_ctrl_c_stops_the_turn_and_twice_leaves(scene):
    scene.user()

    with chat(scene) as person:
        told(person, steps({"say": "begun\n\n"}, {"hang": True}))
        person.wait("\nbegun")
        person.press("C-c")
        person.wait("Stopped.")
        person.type("again")
        person.wait("You said: again")
        person.idle()
        person.press("C-c")
        person.wait("Ctrl-C again leaves.")
        person.press("C-c")
        person.wait("exit status 0")


@pytest.mark.needs("tmux")
def test_an_earlier_session_is_picked_and_goes_on(scene):
    scene.user()
    with chat(scene) as person:
        person.type("the first one")
        person.wait("You said: the first one")
        person.press("C-d")
        person.wait("exit status 0")
    words = ("agent", "chat", "scripted", "--resume", "pick")
    with at_terminal(*words, folder=scene.work, **scene.env) as person:
        assert "… You said: the first one" in person.wait("Go on with which one?")
        person.type("1")
        person.wait("/help says")
        person.press("C-d")
        person.wait("exit status 0")


def test_messages_of_a_file_are_turns_of_one_session_in_machine_mode(scene):
    scene.user()
    (scene.work / "messages.txt").write_text("one\n\ntwo\n")

    outcome = scene("chat", "scripted", "--messages", "messages.txt")

    assert outcome.exit_code == 0, outcome
    assert [event["text"] for event in outcome.of("text-delta")] == ["You said: one", "You said: two"]
    assert len({event["sessionId"] for event in outcome.of("turn-end")}) == 1


def test_without_a_person_and_without_messages_it_does_not_wait(scene):
    scene.user()

    for output in ("jsonl", None):
        outcome = scene("chat", "scripted", output=output)
        assert outcome.exit_code == 77
    assert scene("chat", "scripted").error["code"] == "INTERACTIVE_REQUIRED"
    assert scene("sessions").results == []


@pytest.mark.needs("tmux")
def test_a_reason_that_the_protocol_has_no_place_for_is_the_next_message(scene):
    scene.user(voice="acp")
    call = {"call": "Edit", "kind": "edit", "args": {"path": "a"}, "ask": True}

    with chat(scene, "--sandbox", "none") as person:
        told(person, steps(call, {"say": "The turn goes on."}))
        person.wait("Allow it?")
        person.type("n use the other file")
        person.wait("this one is your next message")
        person.wait("> use the other file")
        person.wait("You said: use the other file")


@pytest.mark.needs("tmux")
def test_commands_of_the_agents_own_are_completed(scene):
    commands = [{"name": "deep-research", "description": "Looks into it."}]
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
    message = {"method": "session/update", "params": {"sessionId": "session-1", "update": update}}
    scene.user(voice="acp")

    with chat(scene, "--sandbox", "none") as person:
        told(person, steps({"send": message}, {"say": "Announced."}))
        person.wait("\nAnnounced.")
        person.type("/deep", enter=False)
        person.wait("/deep-research")
        person.press("C-u")
        person.type("/help")
        person.wait("the agent's own: /deep-research")


@pytest.mark.needs("tmux")
def test_a_chat_ends_when_its_session_is_killed_elsewhere_and_says_how_to_go_on(scene):
    scene.user()

    with chat(scene, "--session", "ses_one") as person:
        person.type("hello")
        person.wait("You said: hello")
        person.type("half of a thought", enter=False)
        person.wait("> half of a thought")
        assert scene("kill", "ses_one").exit_code == 0
        shown = person.wait("exit status")

    assert "Not sent (Up brings it back in the next chat): half of a thought" in shown
    assert "this session has ended (killed)" in shown
    assert "--resume ses_one" in shown
    assert "exit status 0" not in shown
    with chat(scene, "--session", "ses_two") as person:
        person.press("Up")
        person.wait("> half of a thought")


@pytest.mark.needs("tmux")
def test_a_long_error_of_a_tool_goes_on_in_the_next_line_at_a_word(scene):
    error = " ".join(["remarkable", "disagreement", "about", "parentheses"] * 8)
    scene.user()

    with chat(scene) as person:
        told(
            person,
            steps(
                {"call": "Fetch", "kind": "other", "args": {}, "fail": True, "result": error}, {"say": "so"}
            ),
        )
        person.wait("\nso")
        shown = person.wait("disagreement", times=16)

    shown = shown[shown.index("✗") :]
    words = {word for line in shown.splitlines() if "disagree" in line for word in line.split()}
    assert words <= {"✗", "remarkable", "disagreement", "about", "parentheses"}
