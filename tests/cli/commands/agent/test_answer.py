"""`operable agent approvals` and `answer`: a question is answered from any process, once, and only for what was asked."""

import signal

import pytest

from tests.cli.agents import steps
from tests.tool.drive import LIMIT

ASKED = steps({"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True}, {"say": "done"})


@pytest.fixture
def asked(scene):
    """A session in which a question waits."""
    scene.user()
    with scene.running(
        "prompt", "scripted", "--prompt", ASKED, "--ask", "*", "--session", "ses_ask"
    ) as prompt:
        prompt.event("agent-prompt")
        yield prompt


def test_a_question_is_listed_and_answered_from_another_process(scene, asked):
    question = scene("approvals").of("agent_question")[0]
    assert (question["session"], question["kind"], question["tool"]) == ("ses_ask", "permission", "Bash")
    assert question["arguments"] == {"command": "ls"}
    assert scene("approvals", "--session", "ses_ask").results == [question]

    plan = scene("answer", "ses_ask", question["question"], "--allow", "--dry-run")
    assert plan.of("aoi:plan")[0]["asked"] == question["digest"]
    assert scene("approvals").results == [question]

    given = scene("answer", "ses_ask", question["question"], "--allow", "--digest", question["digest"])
    assert given.of("agent_answer")[0]["allowed"] is True
    outcome = asked.finish()

    assert outcome.exit_code == 0
    assert outcome.of("text-delta")[0]["text"] == "done"
    assert scene("approvals").results == []
    late = scene("answer", "ses_ask", question["question"], "--allow")
    assert (late.exit_code, late.error["code"]) == (65, "NO_SUCH_ASK")


def test_a_denial_reaches_the_agent_with_its_reason(scene, asked):
    question = scene("approvals").of("agent_question")[0]["question"]

    assert scene("answer", "ses_ask", question, "--deny", "--reason", "not on a Friday").exit_code == 0

    outcome = asked.finish()
    assert outcome.of("tool-result")[0]["denied"] is True
    record = next(each for each in scene("audit").results if each["action"] == "agent.decision")
    assert (record["decision"], record["output"]["reason"]) == ("deny", "not on a Friday")
    assert record["policy"] == "operable agent answer"


def test_an_answer_to_something_else_and_one_that_says_nothing_are_refused(scene, asked):
    question = scene("approvals").of("agent_question")[0]["question"]

    other = scene("answer", "ses_ask", question, "--allow", "--digest", "sha256:" + "0" * 64)
    assert (other.exit_code, other.error["code"]) == (65, "ASK_CHANGED")
    both = scene("answer", "ses_ask", question, "--allow", "--deny")
    assert (both.exit_code, both.error["code"]) == (64, "MISSING_DECISION")
    assert scene("answer", "ses_ask", question).error["code"] == "MISSING_DECISION"
    unknown = scene("answer", "ses_ask", question, "--allow", "--option", "nonsense")
    assert unknown.error["code"] == "NO_SUCH_OPTION"
    assert len(scene("approvals").results) == 1


def test_questions_of_two_sessions_may_have_the_same_id_and_are_kept_apart(scene, asked):
    with scene.running(
        "prompt", "scripted", "--prompt", ASKED, "--ask", "*", "--session", "ses_two"
    ) as second:
        second.event("agent-prompt")
        found = scene("approvals").of("agent_question")
        assert [each["session"] for each in found] == ["ses_ask", "ses_two"]
        assert found[0]["question"] == found[1]["question"]

        assert scene("answer", "ses_two", found[1]["question"], "--deny").exit_code == 0
        assert second.finish().of("tool-result")[0]["denied"] is True
        assert [each["session"] for each in scene("approvals").results] == ["ses_ask"]
        assert scene("answer", "ses_ask", found[0]["question"], "--allow").exit_code == 0
    assert "denied" not in asked.finish().of("tool-result")[0]


def test_an_answer_to_a_host_that_was_killed_is_used_by_no_later_session(scene, asked):
    question = scene("approvals").of("agent_question")[0]["question"]
    # It cannot read the answer any more: it is stopped, answered, and killed.
    asked.process.send_signal(signal.SIGSTOP)
    assert scene("answer", "ses_ask", question, "--allow").exit_code == 0
    asked.process.kill()
    asked.process.wait(LIMIT)

    late = scene("answer", "ses_ask", question, "--allow")
    assert (late.exit_code, late.error["code"]) == (65, "NO_SUCH_ASK")
    assert scene("approvals").results == []
    (lost,) = scene("sessions").of("agent_session")
    assert (lost["status"], lost["error"]) == ("error", "interrupted")
    assert not list(scene.home.rglob("asks/*"))

    with scene.running(
        "prompt", "scripted", "--prompt", ASKED, "--ask", "*", "--session", "ses_two"
    ) as second:
        second.event("agent-prompt")
        (again,) = scene("approvals").of("agent_question")
        assert (again["session"], again["question"]) == ("ses_two", question)
        assert scene("answer", "ses_two", question, "--deny").exit_code == 0
        assert second.finish().of("tool-result")[0]["denied"] is True
    decided = [each for each in scene("audit").results if each["action"] == "agent.decision"]
    assert [each["decision"] for each in decided] == ["deny"]
