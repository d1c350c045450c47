"""vertex: Claude on Google Vertex AI. Needs VERTEX_PROJECT_ID, VERTEX_REGION and GOOGLE_APPLICATION_CREDENTIALS (a file).

The file is a service account's key, or whatever else Google's libraries read; without one, the login of `gcloud` is
used if there is one. A token from `gcloud auth print-access-token` may be given with --api-key instead.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from operable.agent.anthropic_messages import messages_session
from operable.agent.claude_facts import EFFORTS, context_window, price
from operable.agent.model import ConfigurationError, Model, Settings
from operable.agent.provider_stream import CONNECT_TIMEOUT, ProviderSession, http_client, needs

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


def _configure(settings: Settings) -> ProviderSession:
    environment = settings.environment
    project, region = environment.get("VERTEX_PROJECT_ID"), environment.get("VERTEX_REGION")
    missing = [
        name for name, value in (("VERTEX_PROJECT_ID", project), ("VERTEX_REGION", region)) if not value
    ]
    if missing:
        raise ConfigurationError(f"{' and '.join(missing)} not set")
    file = None if settings.api_key else _file(environment)
    needs("anthropic", "google.auth")

    def client(transport: Any) -> Any:
        import anthropic
        import google.auth.transport.requests  # here, and not when the first token is fetched

        load: Any = google.auth.load_credentials_from_file  # Google types nothing
        credentials = None
        if file is not None:
            credentials = _Credentials(load(file, scopes=_SCOPES)[0])
        return anthropic.AsyncAnthropicVertex(
            region=str(region),
            project_id=str(project),
            access_token=settings.api_key or ("rehearsal" if transport else None),
            credentials=credentials,  # type: ignore[arg-type]  # the three names that the SDK uses
            base_url=settings.base_url,
            max_retries=0,
            http_client=http_client(anthropic, transport),
        )

    return messages_session(client, [settings.api_key] if settings.api_key else [])


def _file(environment: Mapping[str, str]) -> str:
    named = environment.get(_FILE)
    if named:
        if not os.path.isfile(named):
            raise ConfigurationError(f"{_FILE} names no file: {named}")
        return named
    folder = environment.get("CLOUDSDK_CONFIG") or os.path.join(
        environment.get("HOME", ""), ".config", "gcloud"
    )
    login = os.path.join(folder, "application_default_credentials.json")
    if not os.path.isfile(login):
        raise ConfigurationError(f"{_FILE} not set")
    return login


MODEL = Model(
    name="vertex",
    default_model="claude-sonnet-5",
    configure=_configure,
    context_window=context_window,
    images=lambda _model: "supported",
    thinking=True,
    effort_levels=EFFORTS,
    price=price,
)
