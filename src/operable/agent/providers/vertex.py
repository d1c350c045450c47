"""vertex: Claude on Google Vertex AI. Needs VERTEX_PROJECT_ID, VERTEX_REGION and GOOGLE_APPLICATION_CREDENTIALS (a file).

The file is a service account's key, or whatever else Google's libraries read; without one, the login of `gcloud` is
used if there is one. A token from `gcloud auth print-access-token` may be given with --api-key instead.
"""

import json
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from operable.agent.provider.anthropic_messages import messages_session
from operable.agent.provider.claude_facts import claude_model
from operable.agent.provider.client import CONNECT_TIMEOUT, address, http_client
from operable.agent.provider.model import ConfigurationError, ProviderSettings
from operable.agent.provider.stream import ProviderSession
from operable.kernel.extras import require

_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


class _Credentials:
    """Google's credentials with a limit on their refresh: theirs is two minutes, in a thread that cannot be stopped."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def token(self) -> Any:
        return self._inner.token

    @property
    def expired(self) -> bool:
        return bool(self._inner.expired)

    def refresh(self, request: Any) -> None:
        self._inner.refresh(partial(request, timeout=CONNECT_TIMEOUT))


def _configure(settings: ProviderSettings) -> ProviderSession:
    require("google.auth", "anthropic")
    environment = settings.environment
    project, region = environment.get("VERTEX_PROJECT_ID"), environment.get("VERTEX_REGION")
    missing = [
        name for name, value in (("VERTEX_PROJECT_ID", project), ("VERTEX_REGION", region)) if not value
    ]
    if missing:
        raise ConfigurationError(f"{' and '.join(missing)} not set")
    account = {} if settings.api_key else _account(environment)
    base_url = address(settings.base_url)

    def client(transport: Any) -> Any:
        import anthropic

        return anthropic.AsyncAnthropicVertex(
            region=str(region),
            project_id=str(project),
            access_token=settings.api_key or ("rehearsal" if transport else None),
            credentials=_credentials(account),
            base_url=base_url,
            max_retries=0,
            http_client=http_client(anthropic, transport),
        )

    return messages_session(client, [settings.api_key] if settings.api_key else [])


def _account(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the file says about who asks."""
    folder = environment.get("CLOUDSDK_CONFIG") or os.path.join(
        environment.get("HOME", ""), ".config", "gcloud"
    )
    login = os.path.join(folder, "application_default_credentials.json")
    path = environment.get(_FILE) or (login if os.path.isfile(login) else None)
    if path is None:
        raise ConfigurationError(f"{_FILE} not set")
    try:
        with open(path, encoding="utf-8") as file:
            account = json.load(file)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{_FILE}={path} cannot be read: {type(error).__name__}") from None
    if not isinstance(account, dict):
        raise ConfigurationError(f"{_FILE}={path} is not a key of an account")
    return account


def _credentials(account: dict[str, Any]) -> Any:
    """As Google's libraries know them; None lets them find out by themselves (federation, impersonation)."""
    import google.auth.transport.requests  # noqa: F401 - now, not when the first token is fetched

    made: Any
    match account.get("type"):
        case "service_account":
            from google.oauth2 import service_account

            made = service_account.Credentials
            return _Credentials(made.from_service_account_info(account, scopes=_SCOPES))
        case "authorized_user":
            from google.oauth2 import credentials

            made = credentials.Credentials
            return _Credentials(made.from_authorized_user_info(account, scopes=_SCOPES))
    return None


MODEL = claude_model(name="vertex", default_model="claude-sonnet-5", configure=_configure)
