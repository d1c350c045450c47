"""`operable agent chat`: a conversation at a terminal, with approvals there, or from a file of messages."""

from tests.cli.agents import steps
from tests.cli.drive import PROGRAM
from tests.tool.drive import terminal


def chat(scene, *words):
    return terminal(
        "agent", "chat", "scripted", "--workspace", str(scene.work), *words, tool=PROGRAM, env=scene.env
    )


def test_a_person_talks_and_answers_what_the_agent_asks(scene, tmp_path):
    scene.user()
    touched = tmp_path / "touched"
    asks = steps(
        {"call": "Edit", "kind": "edit", "args": {"path": "a"}, "ask": True, "touch": str(touched)},
        {"say": "edited"},
    )

    with chat(scene) as person:
        person.read_until(">")
        assert "/quit ends" in person.screen
        person.type("hello\n")
        person.read_until("You said: hello")
        person.type(f"{asks}\n")
        person.read_until("Allow it?")
        assert not touched.exists()
        person.type("y\n")
        person.read_until("edited")
        person.type("/quit\n")
        outcome = person.finish()

    assert outcome.exit_code == 0, outcome
    assert touched.exists()
    assert scene.session()["turns"] == 2


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
        person.read_until(">")
        person.type(f"{asks}\n")
        person.read_until("Allow it?")
        person.type("nonsense\n")
        person.read_until("not one of the answers")
        # What is typed before the question is asked again is forgotten.
        person.screen = person.screen.partition("not one of the answers")[2]
        person.read_until("Allow it?")
        person.type("n\n")
        person.read_until("as you wish")
        person.type("\x04")
        outcome = person.finish()

    assert outcome.exit_code == 0, outcome
    assert not touched.exists()
    record = next(each for each in scene("audit").results if each["action"] == "agent.decision")
    assert (record["decision"], record["policy"]) == ("deny", "terminal")


def test_who_is_faster_elsewhere_answers_for_the_person(scene):
    scene.user()
    asks = steps({"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True}, {"say": "ran"})

    with chat(scene) as person:
        person.read_until(">")
        person.type(f"{asks}\n")
        person.read_until("Allow it?")
        question = scene("approvals").of("agent_question")[0]
        assert scene("answer", question["session"], question["question"], "--allow").exit_code == 0
        person.read_until("answered elsewhere")
        person.read_until("ran")
        person.type("\x04")
        outcome = person.finish()

    assert outcome.exit_code == 0, outcome
    record = next(each for each in scene("audit").results if each["action"] == "agent.decision")
    assert (record["decision"], record["policy"]) == ("allow", "operable agent answer")


def test_a_turn_that_fails_is_told_and_the_next_one_goes_on(scene):
    scene.user()

    with chat(scene) as person:
        person.read_until(">")
        person.type(steps({"error": "boom"}) + "\n")
        person.read_until("boom")
        person.type("/mode nonsense\n/help\n")
        person.type("again\n")
        person.read_until("You said: again")
        person.type("\x04")
        assert person.finish().exit_code == 0


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
