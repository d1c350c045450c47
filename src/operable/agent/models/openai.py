"""openai: OpenAI's chat completions, and every server that speaks them. Needs OPENAI_API_KEY; OPENAI_BASE_URL names another.

The base URL may be given with or without its `/v1`.
"""

from typing import Any

from operable.agent.model import ConfigurationError, Model, Settings
from operable.agent.openai_chat import ChatSession
from operable.agent.provider_stream import CONNECT_TIMEOUT, SILENCE_TIMEOUT

_WINDOWS = {"gpt-4o": 128_000, "gpt-4.1": 1_000_000, "gpt-5": 400_000, "o3": 200_000, "o4": 200_000}
# USD per million tokens: input, output, cache read, cache write; list prices of November 2025.
_PRICES = {
    "gpt-4o-mini": (0.15, 0.6, 0.075, 0.0),
    "gpt-4o": (2.5, 10.0, 1.25, 0.0),
    "gpt-4.1": (2.0, 8.0, 0.5, 0.0),
    "gpt-5": (1.25, 10.0, 0.125, 0.0),
}


def _configure(settings: Settings) -> ChatSession:
    key = settings.api_key or settings.environment.get("OPENAI_API_KEY")
    if not key:
        raise ConfigurationError("OPENAI_API_KEY not set")
    base_url = settings.base_url or settings.environment.get("OPENAI_BASE_URL")
    if base_url:
        base_url = base_url.rstrip("/").removesuffix("/v1") + "/v1"

    def client() -> Any:
        import openai

        return openai.AsyncOpenAI(
            api_key=key,
            base_url=base_url,
            max_retries=0,
            timeout=openai.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT),
        )

    return ChatSession(client)


def _known(table: dict[str, Any], model: str) -> Any:
    return next((value for name, value in table.items() if model.startswith(name)), None)


MODEL = Model(
    name="openai",
    default_model="gpt-4o",
    configure=_configure,
    context_window=lambda model: _known(_WINDOWS, model) or 128_000,
    images=lambda model: "supported" if _known(_WINDOWS, model) else "unknown",
    thinking=True,
    effort_levels=("low", "medium", "high"),
    price=lambda model: _known(_PRICES, model),
)
