"""What an error of an agent means: its reason in words, wherever the agent put it, and our stable code for it.

Many agents say "Internal error" and put the reason into the data of the error (qwen, gemini, Claude), some as text that is
JSON again. The status with which a model refused is a member, a number or a word of the message. Both are read here, for
every arm, and bounded: nothing of an error is to be trusted. Codes that say more than "the agent failed" are kept.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from operable.kernel.json import parse
from operable.wire.events import Failure

_CAUSE_LIMIT: Final = 500
_DEPTH: Final = 4  # of errors inside errors: SDKs wrap the answer of a model twice
_TEXT_READ: Final = 16 * 1024
# Where agents put a reason, and a status.
_REASONS: Final = ("details", "detail", "message", "reason", "error", "description", "cause")
_STATUSES: Final = ("status", "statusCode", "httpStatus", "httpStatusCode", "http_status", "code")
# Codes that say nothing about the reason: what the error itself shows counts more.
_VAGUE: Final = frozenset(
    {"agent_error", "engine_error", "internal_error", "provider_error", "model_error", "unknown"}
)
_STATUS: Final = re.compile(
    r"(?:^\W{0,3}|\(|\b(?:status|code|http|error|returned|answered|failed)\W{1,12}(?:code\W{1,4})?)"
    r"(40[0-9]|413|422|429|50[0-4]|529)(?!\w|[.,]\d)",
    re.IGNORECASE,
)
_REFUSED_LOGIN: Final = re.compile(
    r"unauthori[sz]ed|unauthenticated|not logged in|log ?in required"
    r"|(?:invalid|incorrect|wrong|missing)[ _-](?:x-)?api[ _-]key|api[ _-]key (?:is )?(?:not valid|invalid)"
    r"|authentication[ _](?:failed|required|error)|no api key",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"rate[ _-]?limit|too many requests|quota|resource.exhausted", re.IGNORECASE)


def explained(message: str, data: Any) -> str:
    """The message, with the reason from the data where the message does not have it."""
    inner = _document(message)  # gemini passes the model's answer on as the message
    message = _reason(inner, _DEPTH) or message
    cause = " ".join(_reason(data, _DEPTH).split())[:_CAUSE_LIMIT]
    plain = " ".join(message.split())
    if not cause or cause in plain:
        return message
    return f"{message.rstrip('. ')}: {cause}" if plain else cause


def classified(failure: Failure, status: int | None = None) -> Failure:
    """The same failure under the code that it deserves. `status`: of the model's answer, where the protocol has it."""
    if failure.code not in _VAGUE:
        return failure
    status = status or _status(failure.data, _DEPTH) or _status_in(failure.message)
    code = _code_of(status, failure.message)
    passes = code == "rate_limited" or status in (408, 409) or (status is not None and status >= 500)
    retryable = failure.retryable or passes
    return Failure(failure.message, code or failure.code, retryable, failure.data)


def _code_of(status: int | None, message: str) -> str | None:
    text = message[:_TEXT_READ]
    if status in (401, 403) or (status is None and _REFUSED_LOGIN.search(text)):
        return "auth_required"
    if status == 429 or (status is None and _RATE.search(text)):
        return "rate_limited"
    return None if status is None else "model_error"


def _reason(data: Any, depth: int) -> str:
    """The words of an error, or of the error inside it."""
    if isinstance(data, str):
        inner = _document(data)
        return (_reason(inner, depth - 1) if inner is not None and depth else "") or data[:_TEXT_READ]
    if isinstance(data, Mapping) and depth:
        for name in _REASONS:
            if found := _reason(data.get(name), depth - 1):
                return found
    return ""


def _status(data: Any, depth: int) -> int | None:
    if isinstance(data, str):
        inner = _document(data)
        return _status_in(data) if inner is None or not depth else _status(inner, depth - 1)
    if not isinstance(data, Mapping) or not depth:
        return None
    for name in _STATUSES:
        value = data.get(name)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    inner_ones = (_status(data.get(name), depth - 1) for name in _REASONS)
    return next((found for found in inner_ones if found is not None), None)


def _status_in(text: str) -> int | None:
    found = _STATUS.search(text[:_TEXT_READ])
    return None if found is None else int(found[1])


def _document(text: str) -> Any:
    """An error that is JSON inside a text; None: it is not."""
    if not text.lstrip().startswith("{") or len(text) > _TEXT_READ:
        return None
    try:
        return parse(text)
    except ValueError:
        return None
