"""What the vendors refuse: each broken history, in each dialect, and nothing that they accept."""

import pytest

from operable.testing.vendor_rules import anthropic, chat_completions, overflow, responses

USER = {"role": "user", "content": "hello"}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
TOOL = {"role": "tool", "tool_call_id": "a", "content": "x"}
SAID = {"role": "assistant", "content": "hi"}
ITEM = {"type": "function_call", "call_id": "a"}
OUTPUT = {"type": "function_call_output", "call_id": "a"}


@pytest.mark.parametrize(
    "messages",
    [[USER], [USER, SAID, USER], [USER, USE, RESULT], [USER, USE, RESULT, SAID, USER], [USER, USER, SAID]],
)
def test_what_anthropic_accepts(messages):
    assert anthropic({"messages": messages, "tools": [{"name": "Read"}]}) is None


@pytest.mark.parametrize(
    "messages, words",
    [
        ([], "at least one"),
        ([SAID, USER], "first message"),
        ([USER, USE], "without `tool_result`"),
        ([USER, USE, USER], "without `tool_result`"),
        ([USER, USE, {**RESULT, "content": [{"type": "text", "text": "x"}, *RESULT["content"]]}], "without"),
        ([USER, RESULT], "unexpected `tool_use_id`"),
        ([USER, USE, {**RESULT, "content": [*RESULT["content"], *RESULT["content"]]}], "single result"),
        ([USER, USE, RESULT, USE, RESULT], "unique"),
        ([USER, SAID, {"role": "user", "content": []}], "non-empty content"),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "non-empty"),
        ([{"role": "user", "content": [{"type": "text", "text": " "}]}], "non-whitespace"),
    ],
)
def test_what_anthropic_refuses(messages, words):
    assert words in (anthropic({"messages": messages, "tools": [{"name": "Read"}]}) or "")


def test_anthropic_refuses_calls_in_a_history_without_tools():
    assert "define tools" in (anthropic({"messages": [USER, USE, RESULT]}) or "")


@pytest.mark.parametrize(
    "messages, words",
    [
        ([USER, CALL, TOOL, SAID], None),
        ([USER, CALL], "did not have response messages: a"),
        ([USER, CALL, USER], "did not have response messages: a"),
        ([USER, TOOL], "must be a response"),
        ([USER, {"role": "assistant", "content": None}], "expected a string"),
        ([], "empty array"),
    ],
)
def test_what_chat_completions_refuse(messages, words):
    found = chat_completions({"messages": messages})

    assert found is None if words is None else words in (found or "")


@pytest.mark.parametrize(
    "items, words",
    [
        ([ITEM, OUTPUT], None),
        ([ITEM], "No tool output found for function call a"),
        ([OUTPUT], "No tool call found"),
        ([ITEM, OUTPUT, ITEM], "Duplicate"),
    ],
)
def test_what_responses_refuse(items, words):
    found = responses({"input": items})

    assert found is None if words is None else words in (found or "")


def test_what_no_window_can_contain_is_refused_in_the_vendors_words():
    body = {"messages": [{"role": "user", "content": "x" * 4000}], "max_tokens": 100}

    assert "prompt is too long" in (overflow(body, 1000, is_anthropic=True) or "")
    assert "maximum context length is 1000" in (overflow(body, 1000, is_anthropic=False) or "")
    assert overflow(body, 1200, is_anthropic=False) is None
