"""What went wrong with a provider, in words for the user: which reasons pass, which do not, and how long to wait.

Both vendors' SDKs come from one generator and raise the same family of exceptions, so one reading serves all providers:
an HTTP status, an error event inside a stream that had begun well, a connection that failed, or an answer that makes
no sense. Secrets are removed by the code that shows the message (`provider_stream`); the reasons here are only cut short.
"""

import re
from collections.abc import Mapping
from typing import Any

from operable.kernel.data_class import dataclass

_REASON_LIMIT = 500  # characters of the vendor's own words; a proxy may answer with a whole page
# Errors inside a stream that would come again; in lower case, without the separators that vendors disagree on.
_LASTING = (
    "invalid",
    "authentication",
    "permission",
    "accessdenied",
    "notfound",
    "validation",
    "toolarge",
    "insufficientquota",
    "billing",
    "policy",
    "contextlength",
)
# Errors inside a stream that have a status of their own when they come before it, and are waited for as long.
_PASSING = {"ratelimit": 429, "throttling": 429, "overloaded": 529, "unavailable": 503}


@dataclass(slots=True)
class Broken(Exception):  # noqa: N818 - what happened to the stream
    """The vendor's stream could not be made or broke off; `passing` reasons are worth another try."""

    message: str
    passing: bool
    status: int | None = None
    retry_after: float | None = None
    overflow: bool = False  # the request is longer than the model's window


# How vendors and local servers say that a request is too long for the model: codes, and words where there is no code.
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|prompt is too long|input is too long|maximum context length"
    r"|context (window|length|size|limit)|exceeds? the (available|maximum|model's) (context|input|number of tokens)"
    r"|too many (input )?tokens|reduce the length of the (messages|prompt|input)",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"maximum context length is (\d+)|> (\d+) maximum|context (?:window|size|length|limit) (?:of|is|:)? ?\(?(\d+)",
    re.IGNORECASE,
)


def window_of(message: str) -> int | None:
    """The size of the window that a refusal names."""
    found = _WINDOW.search(message)
    return None if found is None else int(next(size for size in found.groups() if size))


def broke_off() -> Broken:
    return Broken("The answer broke off before its end.", passing=True)


def unreadable(what: str) -> Broken:
    """The stream carried something that no vendor sends. Another try may meet a healthier server."""
    return Broken(f"The provider's answer could not be read: {what}.", passing=True)


def explained(sdk: Any, error: Exception) -> Broken:
    """Whatever an SDK (the module) raised; unknown faults do not pass by waiting."""
    import httpx2

    if isinstance(error, Broken):
        return error
    if isinstance(error, sdk.APIStatusError):
        if error.status_code < 300:  # how the SDK reports an error event inside a stream that had begun well
            return in_stream(_field(error.body, "type"), _field(error.body, "message"))
        return _status(error)
    if isinstance(error, (sdk.APITimeoutError, httpx2.TimeoutException)):
        return Broken("The provider did not answer in time.", passing=True)
    if isinstance(error, (sdk.APIConnectionError, httpx2.RequestError)):
        cause = error.__cause__ or error
        return Broken(
            f"The provider could not be reached: {_short(str(cause) or type(cause).__name__)}.", passing=True
        )
    if isinstance(error, sdk.APIError):
        return in_stream(_field(error.body, "code") or _field(error.body, "type"), _reason(error))
    if type(error).__module__ in ("google.auth.exceptions", "botocore.exceptions"):
        retryable = bool(getattr(error, "retryable", False))
        return Broken(f"The credentials could not be used: {_short(str(error))}.", passing=retryable)
    if (
        isinstance(error, ValueError) or type(error).__module__ == "botocore.eventstream"
    ):  # no JSON, UTF-8 or frame
        return unreadable(type(error).__name__)
    return Broken(f"The provider's answer could not be read: {type(error).__name__}.", passing=False)


def in_stream(kind: str, reason: str) -> Broken:
    """An error that the vendor reported in the middle of an answer."""
    plain = kind.lower().replace("_", "").replace("-", "")
    status = next((status for word, status in _PASSING.items() if word in plain), None)
    overflow = bool(_OVERFLOW.search(f"{kind} {reason}"))
    passing = not overflow and not any(word in plain for word in _LASTING)
    message = f"The provider failed: {_short(reason) or kind or 'no reason given'}."
    return Broken(message, passing=passing, status=status, overflow=overflow)


def _status(error: Any) -> Broken:
    status, reason, headers = error.status_code, _short(_reason(error)), error.response.headers
    seconds = retry_after(headers)
    match status:
        case 401 | 403:
            message = f"The provider refused access ({status}): {reason}."  # not "key:", which would hide the reason
        case 404:
            message = f"The provider does not know this model or address: {reason}."
        case 429:
            after = f" Retry after {seconds:g}s." if seconds is not None else ""
            message = f"Rate limit exceeded: {reason}.{after}"
        case 529:
            message = f"The provider is overloaded: {reason}."
        case _:
            message = f"The provider answered {status}: {reason}."
    passing = status in (408, 409, 429) or status >= 500
    wish = headers.get("x-should-retry")
    if wish in ("true", "false"):  # both vendors say so where the status alone would mislead
        passing = wish == "true"
    if _field(error.body, "code") == "insufficient_quota":  # a 429 that only a payment ends
        passing = False
    overflow = status in (400, 413) and bool(_OVERFLOW.search(f"{_field(error.body, 'code')} {reason}"))
    return Broken(
        message, passing=passing and not overflow, status=status, retry_after=seconds, overflow=overflow
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the vendor asks to wait, in any of the three ways to say it; None: it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        if value.replace(".", "", 1).isdecimal():
            return float(value) * unit
    return _until(headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime
    from time import time

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time())
    except (ValueError, OverflowError):
        return None


def _reason(error: Any) -> str:
    return _field(error.body, "message") or str(error.message)


def _field(body: Any, name: str) -> str:
    """From `{"error": {…}}` or from the object itself; vendors and their imitators do both."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    value = inner.get(name) if isinstance(inner, Mapping) else None
    return value if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text[:_REASON_LIMIT].strip().rstrip(".")
