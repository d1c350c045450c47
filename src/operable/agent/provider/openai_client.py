"""Who asks OpenAI, and where: shared by its two APIs, and by everything that is reached in the same way."""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from operable.agent.provider.client import address, http_client, needs
from operable.agent.provider.model import ConfigurationError, Settings


class Door(NamedTuple):
    client: Callable[[Any], Any]
    secrets: list[str]
    own: bool
    """whether OpenAI itself answers, and not something that is compatible with it"""


def openai_door(settings: Settings) -> Door:
    """`ConfigurationError` when there is no key. A server that needs none still wants a word in its place."""
    key = settings.api_key or settings.environment.get("OPENAI_API_KEY")
    if not key:
        raise ConfigurationError("OPENAI_API_KEY not set")
    needs("openai")
    base_url = address(settings.base_url or settings.environment.get("OPENAI_BASE_URL"))
    if base_url:
        base_url = base_url.rstrip("/").removesuffix("/v1") + "/v1"
    own = base_url is None or (urlsplit(base_url).hostname or "").endswith("openai.com")

    def client(transport: Any) -> Any:
        import openai

        return openai.AsyncOpenAI(
            api_key=key, base_url=base_url, max_retries=0, http_client=http_client(openai, transport)
        )

    return Door(client, [key], own)
