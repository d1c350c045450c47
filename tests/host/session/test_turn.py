"""Whether a turn that was completed has an answer of a model in it."""

import pytest

from operable.host.session.turn import TurnContent
from operable.wire.events import AgentPrompt, Notice, TextDelta, Thought, ToolCall, TurnEnd
from tests.host.scene import session, steps
from tests.host.session.test_session import events_of, run

END = TurnEnd("s", "completed")
PATTERNS = {"model_error_text": ["Error: *", "HTTP [45]??: *"]}
UNNUMBERED = {"model_error_text": "unnumbered"}


def doubt(quirks, *events, end=END):
    content = TurnContent(quirks)
    for event in events:
        if isinstance(event, TextDelta):
            content.text = event
        else:
            content.add(event)
    found = content.doubt(end)
    return found and found.code


@pytest.mark.parametrize(
    "events, code",
    [
        ([], "empty_turn"),
        ([Notice("title", "A title", "s")], "empty_turn"),
        ([TextDelta("s", "An answer.")], None),
        ([Thought("s", "Hm.")], None),
        ([ToolCall("s", "c1", "Write")], None),
        ([AgentPrompt("s", "q1")], None),
    ],
)
def test_a_turn_without_a_word_is_noticed(events, code):
    assert doubt({}, *events) == code


@pytest.mark.parametrize(
    "quirks, text, code",
    [
        (PATTERNS, TextDelta("s", "Error: 400 the request is bad\n"), "model_error"),
        (PATTERNS, TextDelta("s", "HTTP 429: too many requests"), "model_error"),
        (PATTERNS, TextDelta("s", "An Error: is explained"), None),
        ({}, TextDelta("s", "Error: 400"), None),
        (UNNUMBERED, TextDelta("s", "the model is away"), "model_error"),
        (UNNUMBERED, TextDelta("s", "An answer.", "m1"), None),
    ],
)
def test_text_that_is_an_error_by_its_manifest_is_noticed(quirks, text, code):
    assert doubt(quirks, text) == code


@pytest.mark.parametrize("reason", ["error", "cancelled", "timeout", "refusal"])
def test_a_turn_that_did_not_complete_says_so_itself(reason):
    assert doubt(PATTERNS, end=TurnEnd("s", reason)) is None


def test_only_the_last_piece_of_text_counts_and_only_of_this_turn(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            return [await events_of(talk.send(steps(*said))) for said in ([], [{"say": "Hello"}])]

    empty, spoken = run(scene())

    assert [event.code for event in empty if isinstance(event, Notice)] == ["empty_turn"]
    assert [event for event in spoken if isinstance(event, Notice)] == []
    assert doubt(PATTERNS, TextDelta("s", "Error: one"), TextDelta("s", "It works again.")) is None
