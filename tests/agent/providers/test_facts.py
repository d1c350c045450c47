"""What is known about models, by whichever name a door gives them."""

import pytest

from operable.agent.provider import claude_facts, openai_facts
from operable.agent.provider.model import ProviderSettings
from operable.kernel import catalogue
from operable.kernel.extras import ExtraMissingError
from tests.absent import hide


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-6",
        "us.anthropic.claude-opus-4-6-v1",
        "anthropic.claude-opus-4-6-v1:0",
        "claude-opus-4-6@20260205",
        "claude-opus-4-6-20260205",
    ],
)
def test_a_claude_is_the_same_behind_every_door(model):
    assert claude_facts.price(model) == (5.0, 25.0, 0.5, 6.25)
    assert claude_facts.thinks_adaptively(model)


@pytest.mark.parametrize(
    "model, window, adaptive",
    [
        ("claude-sonnet-5-5", 1_000_000, True),
        ("claude-sonnet-4-5-20250929", 200_000, False),
        ("claude-sonnet-4-20250514", 200_000, False),
        ("claude-3-7-sonnet-20250219", 200_000, False),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000, False),
        ("claude-haiku-4-5", 200_000, False),
        ("claude-something-new", 200_000, False),
        ("", 200_000, False),
    ],
)
def test_a_claude_is_known_by_its_family_and_version(model, window, adaptive):
    assert claude_facts.context_window(model) == window
    assert claude_facts.thinks_adaptively(model) == adaptive


def test_a_price_that_depends_on_the_prompt_is_not_given():
    assert claude_facts.price("claude-haiku-5-5") is None
    assert claude_facts.price("claude-haiku-4-5") == (1.0, 5.0, 0.1, 1.25)


@pytest.mark.parametrize(
    "model, window, images, reasons",
    [
        ("gpt-6.1-sol", 1_050_000, "supported", True),
        ("gpt-4o-mini-2024-07-18", 128_000, "supported", False),
        ("gpt-4.1-nano", 1_000_000, "supported", False),
        ("o3-mini", 200_000, "unsupported", True),
        ("qwen3-coder", 128_000, "unknown", False),
    ],
)
def test_the_longest_name_that_fits_decides(model, window, images, reasons):
    assert openai_facts.context_window(model) == window
    assert openai_facts.images(model) == images
    assert openai_facts.reasons(model) == reasons


def test_a_small_model_does_not_get_the_price_of_its_big_sister():
    assert openai_facts.price("gpt-4o-mini") != openai_facts.price("gpt-4o")
    assert openai_facts.price("gpt-5.3-chat-latest") is None


@pytest.mark.parametrize(
    ("provider", "hidden", "extra"),
    [
        ("anthropic", "anthropic", "agent"),
        ("openai", "openai", "agent"),
        ("bedrock", "boto3", "bedrock"),
        ("vertex", "google.auth", "vertex"),
    ],
)
def test_a_missing_sdk_is_a_fault_of_configuration_that_says_what_to_install(
    monkeypatch, provider, hidden, extra
):
    model = catalogue.load("operable.agent.providers", provider, "MODEL", kind="provider")
    hide(monkeypatch, hidden)
    variables = "OPENAI_API_KEY ANTHROPIC_API_KEY AWS_REGION VERTEX_PROJECT_ID VERTEX_REGION".split()
    settings = ProviderSettings(api_key="key", environment=dict.fromkeys(variables, "some-1"))

    with pytest.raises(ExtraMissingError) as caught:
        model.configure(settings)

    assert (caught.value.exit_code, caught.value.hint) == (78, f"pip install 'operable[{extra}]'")
