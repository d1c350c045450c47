"""Anthropic's Messages API: `/v1/messages`, `/v1/messages/count_tokens`, `/v1/models`."""

from typing import Any

from operable.testing import vendor_rules
from operable.testing.anthropic_reply import AnthropicRendering, count_tokens, failure, read_messages
from operable.testing.dialect import MODELS, Asked, Dialect
from operable.testing.http_edge import EdgeRequest


def _matches(request: EdgeRequest) -> bool:
    return request.method == "POST" and request.path.endswith("/v1/messages")


def _read(request: EdgeRequest) -> Asked:
    body = request.json()
    return read_messages(body, body.get("model", ""), streamed=bool(body.get("stream")))


def _other(request: EdgeRequest) -> Any:
    if request.path.endswith("/v1/messages/count_tokens"):
        return count_tokens(request.json())
    if request.path.endswith("/v1/models") and "anthropic-version" in request.headers:
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
            for name in MODELS
        ]
        return {"data": data, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
    return None


DIALECT = Dialect(_matches, _read, AnthropicRendering, failure, _other, vendor_rules.anthropic)
