"""Errors of the agent with codes of ours. The protocol's own numbers, and the HTTP status that some agents use instead."""

from typing import Any, Final

from operable.wire.events import CANCELLED, COMPLETED, MAX_TOKENS, MAX_TURNS, REFUSAL, Failure
from operable.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    RpcError,
)

AUTH_REQUIRED: Final = -32000
UNSUPPORTED_VERSION: Final = -32022

_CODES: Final = {
    AUTH_REQUIRED: "auth_required",
    -32002: "not_found",
    PARSE_ERROR: "invalid_request",
    INVALID_REQUEST: "invalid_request",
    INVALID_PARAMS: "invalid_request",
    METHOD_NOT_FOUND: "unsupported",
    INTERNAL_ERROR: "agent_error",
    REQUEST_CANCELLED: "cancelled",
    # Gemini answers with the HTTP status of its model as the number of the error.
    400: "model_error",
    401: "auth_required",
    403: "auth_required",
    404: "model_error",
    429: "rate_limited",
}

REASONS: Final = {
    "end_turn": COMPLETED,
    "cancelled": CANCELLED,
    "refusal": REFUSAL,
    "max_tokens": MAX_TOKENS,
    "max_turn_requests": MAX_TURNS,
}


def failure(error: RpcError) -> Failure:
    """What went wrong, in the agent's words; the code is ours and stable, the agent's number stays in `data`."""
    busy = error.code == 429 or 500 <= error.code <= 599
    code = _CODES.get(error.code, "model_error" if busy else "agent_error")
    data: dict[str, Any] = {"rpcCode": error.code}
    detail = error.data
    if detail is not None:
        data["detail"] = detail
    return Failure(error.message or f"The agent failed with code {error.code}.", code, busy, data)
