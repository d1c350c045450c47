"""openai-responses: OpenAI's Responses API, for models that reason. Needs OPENAI_API_KEY; OPENAI_BASE_URL names another.

The base URL may be given with or without its `/v1`. Nothing is stored at the vendor; reasoning is given back to the
model in the encrypted form in which it came.
"""

from operable.agent.provider.client import openai_door
from operable.agent.provider.model import ProviderSettings
from operable.agent.provider.openai_facts import openai_model
from operable.agent.provider.openai_responses import responses_session
from operable.agent.provider.stream import ProviderSession


def _configure(settings: ProviderSettings) -> ProviderSession:
    door = openai_door(settings)
    return responses_session(door.client, door.secrets)


MODEL = openai_model(name="openai-responses", default_model="gpt-6.1-sol", configure=_configure)
