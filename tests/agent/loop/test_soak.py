"""A session goes on in a window that is much smaller than it, and says what it has used when it is stopped."""

import threading

import pytest

from operable.agent.loop.run import AgentRun
from operable.agent.session.history import TextBlock
from operable.testing.models import ModelServer
from operable.wire import json_stream as protocol
from tests.agent.loop.soak import WINDOW, conversation, say, soak


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai-responses"])
def test_no_turn_is_lost_in_a_small_window_and_no_request_is_larger_than_it(provider, tmp_path):
    result = soak(tmp_path, 30, provider=provider)

    assert (result.answered, result.refused, result.errors) == (30, 0, [])
    assert result.largest <= WINDOW
    assert result.compactions > 0


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_window_that_nobody_named_is_learned_from_the_refusal(provider, tmp_path):
    result = soak(tmp_path, 45, provider=provider, window=None)

    assert (result.answered, result.errors) == (45, [])
    assert 0 < result.refused < 3


def test_compact_makes_room_when_the_user_asks_for_it(tmp_path):
    with ModelServer(default=[[{"say": "In short: nothing. "}]]) as server:
        talk = conversation(tmp_path, server.url)
        for number in range(6):
            say(talk, f"Tell me about {number}. " * 200)
        before = len(server.exchanges[-1].body["messages"])
        events = say(talk, "/compact")
        say(talk, "And now?")
        talk.session.close()

    text = "".join(event.text for event in events if isinstance(event, protocol.TextDeltaFrame))
    assert text.startswith("Summarised")
    assert len(server.exchanges[-1].body["messages"]) < before
    assert all(exchange.status == 200 for exchange in server.exchanges)


@pytest.mark.parametrize("how", ["stopped", "cut"])
def test_what_the_provider_has_counted_is_kept_when_an_answer_does_not_end(how, tmp_path):
    ending = {"hang": True} if how == "stopped" else {"drop": "cut"}
    with ModelServer(default=[[{"usage": {"input": 70}}, {"say": "Half"}, ending]]) as server:
        talk = conversation(tmp_path, server.url, "anthropic")
        events: list[protocol.Event] = []
        heard = threading.Event()

        def hear(event: protocol.Event) -> None:
            events.append(event)
            if isinstance(event, protocol.TextDeltaFrame):
                heard.set()

        run = AgentRun(talk, "m", hear)
        working = threading.Thread(target=run.work, args=([TextBlock("Tell me.")],))
        working.start()
        if how == "stopped":
            assert heard.wait(60)
            run.cancellation.cancel()
        working.join(60)
        talk.session.close()

    (end,) = [event for event in events if isinstance(event, protocol.StreamEndFrame)]
    assert end.usage is not None
    assert end.usage.input_tokens == talk.tokens.input_tokens == 70
