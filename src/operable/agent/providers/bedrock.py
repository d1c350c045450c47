"""bedrock: Claude on Amazon Bedrock. Needs AWS_REGION, and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.

Requests are signed (SigV4) with these. AWS_SESSION_TOKEN goes with temporary keys. A Bedrock API key, in
AWS_BEARER_TOKEN_BEDROCK or given with --api-key, is used instead of signing. Where neither is set, the credentials
file of the AWS command line or the role of a container is used if there is one; for the role of a machine, name a
profile with `credential_source`.
"""

import json
import os
import struct
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from operable.agent.provider.anthropic_messages import REHEARSED, messages_session
from operable.agent.provider.claude_facts import claude_model
from operable.agent.provider.client import address, http_client
from operable.agent.provider.model import ConfigurationError, ProviderSettings
from operable.agent.provider.stream import ProviderSession, Rehearsal
from operable.kernel.extras import require

_STRING = 7  # the type of a header whose value is a text
_CREDENTIALS = "AWS_SHARED_CREDENTIALS_FILE"
_ROLES = (
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)


def _configure(settings: ProviderSettings) -> ProviderSession:
    environment = settings.environment
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if not region:
        raise ConfigurationError("AWS_REGION not set")
    identity = _identity(settings.api_key, environment)
    base_url = address(settings.base_url)
    require("boto3", "anthropic")

    def client(transport: Any) -> Any:
        import anthropic
        import boto3  # type: ignore[import-untyped]  # noqa: F401 - now, not when the first request is signed

        return anthropic.AsyncAnthropicBedrock(
            aws_region=region,
            base_url=base_url,
            max_retries=0,
            http_client=http_client(anthropic, transport),
            **identity,
        )

    secrets = [value for name, value in identity.items() if name not in ("aws_access_key", "aws_profile")]
    frames = b"".join(_frame(event) for event in REHEARSED)
    return messages_session(client, secrets, Rehearsal(frames, "application/vnd.amazon.eventstream"))


def _frame(event: dict[str, Any]) -> bytes:
    """An event in the binary framing of AWS: lengths, typed headers, payload, and a checksum after each half."""
    payload = json.dumps({"bytes": b64encode(json.dumps(event).encode()).decode()}).encode()
    headers = b"".join(
        struct.pack(f">B{len(name)}sBH{len(value)}s", len(name), name, _STRING, len(value), value)
        for name, value in ((b":message-type", b"event"), (b":event-type", b"chunk"))
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return message + struct.pack(">I", crc32(message))


def _identity(api_key: str | None, environment: Mapping[str, str]) -> dict[str, Any]:
    """Who asks, as the SDK's arguments; the order is that of AWS's own tools."""
    if bearer := api_key or environment.get("AWS_BEARER_TOKEN_BEDROCK"):
        return {"api_key": bearer}
    if key := environment.get("AWS_ACCESS_KEY_ID"):
        secret = environment.get("AWS_SECRET_ACCESS_KEY")
        if not secret:
            raise ConfigurationError("AWS_SECRET_ACCESS_KEY not set")
        token = environment.get("AWS_SESSION_TOKEN")
        return {
            "aws_access_key": key,
            "aws_secret_key": secret,
            **({"aws_session_token": token} if token else {}),
        }
    if profile := environment.get("AWS_PROFILE"):
        return {"aws_profile": profile}
    file = environment.get(_CREDENTIALS) or os.path.join(environment.get("HOME", ""), ".aws", "credentials")
    if not os.path.isfile(file) and not any(environment.get(name) for name in _ROLES):
        raise ConfigurationError("AWS_ACCESS_KEY_ID not set, and neither is AWS_PROFILE")
    return {}


MODEL = claude_model(name="bedrock", default_model="anthropic.claude-sonnet-5", configure=_configure)
