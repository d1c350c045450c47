"""What is asked, what each answer would cover, and what is made of it."""

import pytest

from operable.cli.terminal.question import interview
from operable.gate.approvals import Ask
from operable.wire.events import Choice

ONCE, ALWAYS = Choice("o", "Allow", "allow_once"), Choice("a", "Always", "allow_always")
REJECT, OTHER = Choice("r", "Reject", "reject_once"), Choice("x", "Whatever", "")


def ask(*options, kind="permission", **more):
    return Ask("q1", "s", kind, "Run it", "Bash", options=tuple(options), digest="sha256:1", **more)


def answered(question, *typed, lasting="everything"):
    """The decision, and all prompts."""
    talk = interview(question, lasting)
    prompts = [next(talk)]
    for text in typed:
        try:
            prompts.append(talk.send(text))
        except StopIteration as ended:
            return ended.value, prompts
    return "none", prompts


@pytest.mark.parametrize(
    "typed, allowed, remember", [("y", True, ""), (" YES ", True, ""), ("a", True, "call")]
)
def test_a_plain_yes_is_bound_to_what_was_shown(typed, allowed, remember):
    decision, _ = answered(ask(ONCE, REJECT), typed)

    assert (decision.allowed, decision.remember, decision.digest) == (allowed, remember, "sha256:1")


@pytest.mark.parametrize("typed", ["", "maybe", "0", "3", "yesterday", "٣", "²"])
def test_anything_else_is_no_answer(typed):
    decision, prompts = answered(ask(ONCE, REJECT), typed)

    assert decision == "none"
    assert prompts[-1].complaint


def test_a_no_has_its_reason_and_quit_has_no_decision():
    assert answered(ask(), "n too early")[0].reason == "too early"
    assert answered(ask(), "n")[0].reason
    assert answered(ask(), "q")[0] is None


def test_an_agent_without_a_plain_permission_has_its_option_named():
    decision, prompts = answered(ask(ONCE, ONCE, REJECT), "y", "a", "2")

    assert [bool(prompt.complaint) for prompt in prompts] == [False, True, True]
    assert decision.option_id == "o"
    assert [key for key, _ in prompts[0].offers] == ["n", "q", "1", "2", "3"]


def test_what_an_option_covers_is_said_as_far_as_it_is_known():
    offers = dict(answered(ask(ONCE, ALWAYS, OTHER))[1][0].offers)

    assert offers["a"] == "always: everything"
    assert "by its own rules" in offers["2"]
    assert "does not say" in offers["3"]


def test_always_is_not_offered_where_it_cannot_last():
    decision, prompts = answered(ask(), "a", lasting="")

    assert decision == "none"
    assert "a" not in dict(prompts[0].offers)


def test_an_option_that_rejects_is_a_no():
    decision, _ = answered(ask(ONCE, REJECT), "2 because")

    assert (decision.allowed, decision.option_id, decision.reason) == (False, "r", "because")


def test_fields_of_a_form_are_asked_one_by_one_with_their_types():
    schema = {"properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}, "t": {}, "e": {}}}
    decision, prompts = answered(ask(kind="input", schema=schema), "3", "yes", "text", "")

    assert decision.content == {"n": 3, "b": True, "t": "text"}
    assert len(prompts) == 4


def test_nothing_said_to_a_question_for_input_declines():
    assert answered(ask(kind="input"), " ")[0].allowed is False
