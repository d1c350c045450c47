"""What is before the first request of any provider: its packages, its address, and how it talks HTTP."""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from operable.agent.provider.model import ConfigurationError, ProviderSettings
from operable.kernel.extras import require

CONNECT_TIMEOUT = 10.0  # seconds until there is a connection
SILENCE_TIMEOUT = (
    120.0  # seconds between any two bytes after that; models think for long, but servers send pings
)


def http_client(sdk: Any, transport: Any) -> Any:
    """What an SDK (the module) talks HTTP with. No redirects: they would carry the key to any host that an answer names."""
    timeout = sdk.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT)
    other = {} if transport is None else {"transport": transport}
    return sdk.DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False, **other)


def address(url: str | None) -> str | None:
    """The base URL that the user gave, if it is one; `ConfigurationError` for anything that cannot be asked."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError("The base URL is not an address of the form https://host[:port][/path]")
    return url


# Who asks OpenAI, and where: shared by its two APIs, and by everything that is reached in the same way.


class Door(NamedTuple):
    client: Callable[[Any], Any]
    secrets: list[str]
    own: bool
    """whether OpenAI itself answers, and not something that is compatible with it"""


def openai_door(settings: ProviderSettings) -> Door:
    """`ConfigurationError` when there is no key. A server that needs none still wants a word in its place."""
    key = settings.api_key or settings.environment.get("OPENAI_API_KEY")
    if not key:
        raise ConfigurationError("OPENAI_API_KEY not set")
    require("openai")
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
