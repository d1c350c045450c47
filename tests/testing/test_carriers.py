"""Anthropic's models as Vertex and Bedrock carry them, seen by the vendor's own clients."""

import importlib
import json

import pytest

from operable.testing.models import ModelServer

STEPS = [{"think": "hm"}, {"say": "Hello", "chunks": 2}, {"usage": {"input": 7}}]
PROMPT = [{"role": "user", "content": "SCRIPT:" + json.dumps([STEPS])}]


@pytest.fixture
def anthropic():
    """Imported by the tests that use it: two seconds, which no other worker has to spend."""
    return importlib.import_module("anthropic")


def vertex(anthropic, url):
    return anthropic.AnthropicVertex(
        base_url=f"{url}/v1", region="test", project_id="p", access_token="t", max_retries=0, timeout=200
    )


def bedrock(anthropic, url):
    return anthropic.AnthropicBedrock(
        base_url=url,
        aws_region="test",
        aws_access_key="AKIATEST",
        aws_secret_key="s",
        max_retries=0,
        timeout=200,
    )


@pytest.mark.parametrize("make", [vertex, bedrock])
def test_a_carrier_streams_and_answers_whole(anthropic, make):
    with ModelServer() as models, make(anthropic, models.url) as client:
        with client.messages.stream(model="claude-x", max_tokens=9, messages=PROMPT) as stream:
            streamed = stream.get_final_message()
        whole = client.messages.create(model="claude-x", max_tokens=9, messages=PROMPT)

    for message in (streamed, whole):
        assert [block.type for block in message.content] == ["thinking", "text"]
        assert message.content[1].text == "Hello"
        assert message.usage.input_tokens == 7
    assert [exchange.asked.model for exchange in models.exchanges] == ["claude-x", "claude-x"]


@pytest.mark.parametrize("make", [vertex, bedrock])
def test_a_carrier_tells_errors_in_its_way(anthropic, make):
    prompt = [{"role": "user", "content": 'SCRIPT:[{"status":429,"message":"slow down"}]'}]

    with (
        ModelServer() as models,
        make(anthropic, models.url) as client,
        pytest.raises(anthropic.RateLimitError),
    ):
        client.messages.create(model="claude-x", max_tokens=9, messages=prompt)
