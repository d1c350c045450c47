"""anthropic: Claude, through Anthropic's own API. Needs ANTHROPIC_API_KEY; ANTHROPIC_BASE_URL names another address."""

from typing import Any

from operable.agent.anthropic_messages import MessagesSession
from operable.agent.claude_facts import context_window, price
from operable.agent.model import ConfigurationError, Model, Settings
from operable.agent.provider_stream import CONNECT_TIMEOUT, SILENCE_TIMEOUT


def _configure(settings: Settings) -> MessagesSession:
    environment = settings.environment
    key = settings.api_key or environment.get("ANTHROPIC_API_KEY")
    token = environment.get("ANTHROPIC_AUTH_TOKEN")
    if not key and not token:
        raise ConfigurationError("ANTHROPIC_API_KEY not set")
    base_url = settings.base_url or environment.get("ANTHROPIC_BASE_URL")

    def client() -> Any:
        import anthropic

        return anthropic.AsyncAnthropic(
            api_key=key,
            auth_token=None if key else token,
            base_url=base_url,
            max_retries=0,
            timeout=anthropic.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT),
        )

    return MessagesSession(client)


MODEL = Model(
    name="anthropic",
    default_model="claude-sonnet-4-5",
    configure=_configure,
    context_window=context_window,
    images=lambda _model: "supported",
    thinking=True,
    price=price,
)
