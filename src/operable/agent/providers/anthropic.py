"""anthropic: Claude, through Anthropic's own API. Needs ANTHROPIC_API_KEY; ANTHROPIC_BASE_URL names another address.

Thinking comes with its signature and is given back unchanged; models since Claude 4.6 decide themselves how much they
think, older ones get the budget. Prompt caching is always on.
"""

from typing import Any

from operable.agent.provider.anthropic_messages import messages_session
from operable.agent.provider.claude_facts import claude_model
from operable.agent.provider.client import address, http_client
from operable.agent.provider.model import ConfigurationError, ProviderSettings
from operable.agent.provider.stream import ProviderSession
from operable.kernel.extras import require


def _configure(settings: ProviderSettings) -> ProviderSession:
    environment = settings.environment
    key = settings.api_key or environment.get("ANTHROPIC_API_KEY")
    token = None if key else environment.get("ANTHROPIC_AUTH_TOKEN")
    if not key and not token:
        raise ConfigurationError("ANTHROPIC_API_KEY not set")
    require("anthropic")
    base_url = address(settings.base_url or environment.get("ANTHROPIC_BASE_URL"))

    def client(transport: Any) -> Any:
        import anthropic

        return anthropic.AsyncAnthropic(
            api_key=key,
            auth_token=token,
            base_url=base_url,
            max_retries=0,
            http_client=http_client(anthropic, transport),
        )

    return messages_session(client, [secret for secret in (key, token) if secret])


MODEL = claude_model(name="anthropic", default_model="claude-sonnet-5-5", configure=_configure)
