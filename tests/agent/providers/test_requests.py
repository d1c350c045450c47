"""What the vendors are asked: the history in their words, with whatever they insist on. Read from what their server got."""

import json

import pytest

from operable.agent.loop.run import ModelAnswer
from operable.agent.provider.model import ModelCall, ModelText, ModelThought
from operable.agent.session.history import (
    HistoryTurn,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolOutputBlock,
    ToolUseBlock,
)
from operable.agent.session.validity import valid
from tests.agent.providers.doors import CLAUDE, DOORS, READ, ask, opened, request

PIXEL = ImageBlock("image/png", "aVZCT1J3MEtHZ28=")
DATA = "data:image/png;base64,aVZCT1J3MEtHZ28="
CALLS = (
    ToolUseBlock("call_1", "Read", {"file_path": "a"}),
    ToolUseBlock("call_2", "Read", {"file_path": "b"}),
)
OUTPUTS = (ToolOutputBlock("call_1", "of a"), ToolOutputBlock("call_2", "", is_error=True, image=PIXEL))
CONVERSATION = (
    HistoryTurn("user", (TextBlock("Look."), PIXEL)),
    HistoryTurn("assistant", (TextBlock("I look."), *CALLS)),
    HistoryTurn("user", (TextBlock("[notice] Be quick."), *OUTPUTS)),
    HistoryTurn("user", (TextBlock("And?"),)),
)


def body(name, server, asked):
    with opened(name, server.url) as session:
        ask(session, asked)
    return server.exchanges[-1].body


def history(name, *turns, **fields):
    """A request whose last words are answered with the default of the server."""
    return request(name, [], turns=valid(turns), **fields)


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_gets_results_first_and_turns_that_alternate(name, server):
    messages = body(name, server, history(name, *CONVERSATION))["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [part["type"] for part in messages[0]["content"]] == ["text", "image"]
    assert messages[0]["content"][1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": PIXEL.data,
    }
    assert [part["type"] for part in messages[1]["content"]] == ["text", "tool_use", "tool_use"]
    results = messages[2]["content"]
    assert [part["type"] for part in results] == ["tool_result", "tool_result", "text", "text"]
    assert [part["tool_use_id"] for part in results[:2]] == ["call_1", "call_2"]
    assert [part["is_error"] for part in results[:2]] == [False, True]
    assert [part["type"] for part in results[1]["content"]] == ["image"]


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_caches_the_system_prompt_the_tools_and_the_last_two_turns(name, server):
    sent = body(name, server, history(name, *CONVERSATION, system="Be good."))
    marked = [part for message in sent["messages"] for part in message["content"] if "cache_control" in part]

    assert sent["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert sent["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert marked == [sent["messages"][0]["content"][-1], sent["messages"][2]["content"][-1]]
    assert json.dumps(sent).count("cache_control") == 4  # more are refused


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_gets_its_thoughts_back_unchanged_and_in_their_places(name, server):
    thoughts = (
        ThinkingBlock("One.", "c2lnMQ=="),
        ThinkingBlock("", data="cmVkYWN0ZWQ="),
        TextBlock("So."),
        ThinkingBlock("Two.", "c2lnMg=="),
        CALLS[0],
    )
    turns = (
        HistoryTurn("user", (TextBlock("Think."),)),
        HistoryTurn("assistant", thoughts),
        HistoryTurn("user", OUTPUTS[:1]),
    )
    sent = body(name, server, history(name, *turns, thinking_budget=2000))

    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "One.", "signature": "c2lnMQ=="},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
        {"type": "text", "text": "So."},
        {"type": "thinking", "thinking": "Two.", "signature": "c2lnMg=="},
        {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "a"}},
    ]
    assert sent["thinking"]["type"] == "adaptive"


@pytest.mark.parametrize("name", DOORS)
def test_an_answer_survives_the_way_through_the_history(name, server):
    """Whatever the provider gave, signatures and all, it is given back; the model server checks nothing, so we look."""
    script = [
        [{"think": "Hm."}, {"say": "Look."}, {"call": "Read", "args": {"file_path": "a"}}],
        [{"say": "Done."}],
    ]
    first = request(name, script, thinking_budget=2000)
    with opened(name, server.url) as session:
        answer = ModelAnswer()
        for piece in ask(session, first)[:-1]:
            answer.add(piece)
        results = tuple(ToolOutputBlock(call.call_id, "of a") for call in answer.calls)
        turns = (*first.turns, HistoryTurn("assistant", answer.blocks()), HistoryTurn("user", results))
        pieces = ask(session, request(name, [], turns=turns, thinking_budget=2000))

    assert pieces[0] == ModelText("Done.")
    sent = json.dumps(server.exchanges[-1].body)
    if name != "openai":  # whose API has no place for thoughts
        assert "c2NyaXB0ZWQ=" in sent
    assert answer.calls[0].call_id in sent


@pytest.mark.parametrize("name", CLAUDE)
def test_thoughts_of_other_providers_are_left_out(name, server):
    foreign = (
        ThinkingBlock("Unsigned."),
        ThinkingBlock("Items.", data={"type": "reasoning", "id": "rs_1"}),
        TextBlock("So."),
    )
    turns = (
        HistoryTurn("user", (TextBlock("a"),)),
        HistoryTurn("assistant", foreign),
        HistoryTurn("user", (TextBlock("b"),)),
    )
    sent = body(name, server, history(name, *turns))

    assert sent["messages"][1]["content"] == [{"type": "text", "text": "So."}]


def test_thinking_waits_for_the_end_of_a_round_that_began_without_it(server):
    """The API refuses to think on from a call that no signed thought precedes."""
    turns = (*CONVERSATION[:2], HistoryTurn("user", OUTPUTS))
    during = body("anthropic", server, history("anthropic", *turns, thinking_budget=2000))
    after = body(
        "anthropic",
        server,
        history("anthropic", *turns, *CONVERSATION[1:2], *CONVERSATION[:1], thinking_budget=2000),
    )

    assert "thinking" not in during
    assert after["thinking"]["type"] == "adaptive"


def test_an_older_claude_gets_a_budget_with_room_for_the_answer(server):
    asked = history(
        "anthropic", CONVERSATION[0], model="claude-haiku-4-5", thinking_budget=10_000, max_tokens=4096
    )
    sent = body("anthropic", server, asked)

    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    assert sent["max_tokens"] == 11_024


def test_a_budget_is_never_below_what_the_api_accepts(server):
    sent = body(
        "anthropic",
        server,
        history("anthropic", CONVERSATION[0], model="claude-haiku-4-5", thinking_budget=5),
    )

    assert sent["thinking"]["budget_tokens"] == 1024


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_is_told_how_much_effort_to_make(name, server):
    assert body(name, server, history(name, CONVERSATION[0], effort="low"))["output_config"] == {
        "effort": "low"
    }


@pytest.mark.parametrize("name", CLAUDE)
def test_a_history_with_calls_declares_its_tools_even_when_none_is_offered(name, server):
    """As for the last answer of a run; the API refuses calls of tools that it does not know."""
    sent = body(name, server, history(name, *CONVERSATION, tools=()))

    assert [tool["name"] for tool in sent["tools"]] == ["Read"]
    assert sent["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("name", CLAUDE)
def test_ids_of_other_vendors_are_spelled_as_this_api_allows(name, server):
    turns = (
        HistoryTurn("user", (TextBlock("a"),)),
        HistoryTurn("assistant", (ToolUseBlock("functions.Read:0", "Read", {}),)),
        HistoryTurn("user", (ToolOutputBlock("functions.Read:0", "x"),)),
    )
    sent = body(name, server, history(name, *turns))

    assert sent["messages"][1]["content"][0]["id"] == "functions_Read_0"
    assert sent["messages"][2]["content"][0]["tool_use_id"] == "functions_Read_0"


@pytest.mark.parametrize("name", CLAUDE)
def test_an_empty_turn_and_a_beginning_by_the_assistant_are_made_acceptable(name, server):
    sent = body(
        name,
        server,
        history(
            name,
            HistoryTurn("assistant", (TextBlock("  "), TextBlock("a"))),
            HistoryTurn("user", (TextBlock("b"),)),
        ),
    )

    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert all(part["text"].strip() for message in sent["messages"] for part in message["content"])


def test_chat_gets_results_right_after_the_calls_and_their_images_from_the_user(server):
    sent = body(
        "openai", server, history("openai", *CONVERSATION, system="Be good.", effort="high", max_tokens=77)
    )
    messages = sent["messages"]

    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert messages[1]["content"][1] == {"type": "image_url", "image_url": {"url": DATA}}
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["call_1", "call_2"]
    assert json.loads(messages[2]["tool_calls"][0]["function"]["arguments"]) == {"file_path": "a"}
    assert [message["tool_call_id"] for message in messages[3:5]] == ["call_1", "call_2"]
    assert [part["type"] for part in messages[5]["content"]] == ["text", "text", "image_url"]
    assert sent["reasoning_effort"] == "high"
    assert sent["stream_options"] == {"include_usage": True}
    assert sent["tools"][0]["function"]["name"] == READ.name


def test_a_compatible_server_gets_the_limit_under_the_name_that_it_knows(server):
    sent = body("openai", server, history("openai", CONVERSATION[3], max_tokens=77))

    assert (sent["max_tokens"], "max_completion_tokens" in sent) == (77, False)
    assert sent["messages"] == [{"role": "user", "content": "And?"}]


def test_responses_get_items_in_order_and_store_nothing(server):
    asked = history("openai-responses", *CONVERSATION, system="Be good.", effort="high", max_tokens=77)
    sent = body("openai-responses", server, asked)
    items = sent["input"]

    assert [item["type"] for item in items] == [
        "message", "message", "function_call", "function_call", "function_call_output", "function_call_output", "message",
    ]  # fmt: skip
    assert items[0]["content"][1]["image_url"] == DATA
    assert items[1]["content"] == [{"type": "output_text", "text": "I look."}]
    assert [item["call_id"] for item in items[2:6]] == ["call_1", "call_2", "call_1", "call_2"]
    assert items[4]["output"] == "of a"
    assert [part["type"] for part in items[5]["output"]] == ["input_text", "input_image"]
    assert (sent["store"], sent["max_output_tokens"], sent["instructions"]) == (False, 77, "Be good.")
    assert sent["reasoning"] == {"summary": "auto", "effort": "high"}


def test_responses_get_reasoning_back_when_it_can_be_read(server):
    kept = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}
    lost = {"type": "reasoning", "id": "rs_2", "summary": []}
    turns = (
        HistoryTurn("user", (TextBlock("a"),)),
        HistoryTurn(
            "assistant",
            (
                ThinkingBlock("Hm.", data=kept),
                ThinkingBlock("Hm.", data=lost),
                ThinkingBlock("Claude's", "sig"),
                TextBlock("b"),
            ),
        ),
        HistoryTurn("user", (TextBlock("c"),)),
    )
    sent = body("openai-responses", server, history("openai-responses", *turns))

    assert [item for item in sent["input"] if item["type"] == "reasoning"] == [kept]
    assert sent["include"] == ["reasoning.encrypted_content"]


def test_a_model_that_does_not_reason_is_not_asked_about_it(server):
    sent = body("openai-responses", server, history("openai-responses", CONVERSATION[0], model="gpt-4.1"))

    assert "reasoning" not in sent


def test_what_was_said_keeps_its_order_and_thoughts_their_signatures():
    answer = ModelAnswer()
    for piece in (
        ModelThought("a"),
        ModelThought("b"),
        ModelThought("", signature="1"),
        ModelThought("", data="redacted"),
        ModelText("x"),
        ModelText("y"),
        ModelThought("c"),
        ModelCall("id", "Read", {}),
        ModelText("z"),
    ):
        answer.add(piece)

    assert answer.blocks() == (
        ThinkingBlock("ab", "1"),
        ThinkingBlock("", data="redacted"),
        TextBlock("xy"),
        ThinkingBlock("c"),
        ToolUseBlock("id", "Read", {}),
        TextBlock("z"),
    )
    assert answer.text == "xyz"
    answer.drop_calls()
    assert answer.calls == []
