"""What went wrong with a turn of Codex: its `codexErrorInfo` as a code of ours, and the reason of a turn that failed."""

from typing import Any, Final

from operable.host.peer import count, mapping, string
from operable.wire.events import ERROR, MAX_TOKENS, REFUSAL, Failure

_CODES: Final = {
    "unauthorized": "auth_required",
    "usageLimitExceeded": "rate_limited",
    "rateLimitExceeded": "rate_limited",
    "sessionBudgetExceeded": "budget_exceeded",
    "serverOverloaded": "model_error",
    "internalServerError": "model_error",
    "modelNotFound": "model_error",
    "badRequest": "model_error",
    "sandboxError": "sandbox_error",
}
_RETRYABLE: Final = frozenset(
    {"rateLimitExceeded", "serverOverloaded", "internalServerError", "flexUnavailable"}
)
_REASONS: Final = {
    "contextWindowExceeded": MAX_TOKENS,
    "cyberPolicy": REFUSAL,
    "misalignmentPolicyViolation": REFUSAL,
}


def failure(error: dict[str, Any]) -> Failure:
    name, status = _info(error)
    code = _CODES.get(name, "agent_error")
    if status in {401, 403}:
        code = "auth_required"
    elif status == 429:
        code = "rate_limited"
    elif status:
        code = "model_error"
    is_retryable = name in _RETRYABLE or status == 429 or status >= 500
    return Failure(
        string(error.get("message")) or "The turn failed.",
        code,
        is_retryable,
        {"info": name} if name else None,
    )


def reason_of(error: dict[str, Any]) -> str:
    """Why a turn that failed ended."""
    return _REASONS.get(_info(error)[0], ERROR)


def _info(error: dict[str, Any]) -> tuple[str, int]:
    """The name of the error and its HTTP status: a word, or an object with one name that contains the status."""
    info = error.get("codexErrorInfo")
    if isinstance(info, dict) and info:
        name = next(iter(info))
        return name, count(mapping(info[name]).get("httpStatusCode"))
    return string(info), 0
