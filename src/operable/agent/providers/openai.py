"""openai: OpenAI's chat completions, and every server that speaks them. Needs OPENAI_API_KEY; OPENAI_BASE_URL names another.

The base URL may be given with or without its `/v1`. OpenAI's newest models call tools only through their Responses
API: use the provider `openai-responses` for those.
"""

from operable.agent.provider.client import openai_door
from operable.agent.provider.model import ProviderSettings
from operable.agent.provider.openai_chat import chat_session
from operable.agent.provider.openai_facts import openai_model
from operable.agent.provider.stream import ProviderSession


def _configure(settings: ProviderSettings) -> ProviderSession:
    door = openai_door(settings)
    return chat_session(door.client, door.secrets, own=door.own)


MODEL = openai_model(name="openai", default_model="gpt-5.5", configure=_configure)
