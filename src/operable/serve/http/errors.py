"""Errors of HTTP: a `Fail` becomes a status and `{"error": {code, category, message, hint?, target?}}`.

The status follows from the category; a few codes have one of their own. What is not a `Fail` is a bug: it is written to
the log with its place, and the client gets a number to find it by, never a traceback. Texts pass redaction.
"""

import logging
import os
import traceback
from typing import Any, Final

import msgspec

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text

log = logging.getLogger("operable.serve")

STATUS_OF_CATEGORY: Final[dict[str, int]] = {
    "usage": 400,
    "validation": 400,
    "authn": 401,
    "authz": 403,
    "not_found": 404,
    "conflict": 409,
    "cancelled": 409,
    "rate_limited": 429,
    "internal": 500,
    "partial": 502,
    "config": 503,
    "io": 503,
    "temporary": 503,
    "timeout": 504,
}
STATUS_OF_CODE: Final[dict[str, int]] = {
    "METHOD_NOT_ALLOWED": 405,
    "BODY_SLOW": 408,
    "BODY_TOO_LARGE": 413,
    "AGENT_NOT_INSTALLED": 501,
}
_TEXT_LIMIT = 4000  # characters of a message; what a tool says can be long


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """`code` is stable, `category` is one of AOI-CLI section 9.1; `hint` is for a person, and is never run."""

    code: str
    category: str
    message: str
    retryable: bool = False
    hint: str | None = None
    target: str | None = None


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The answer of every request that failed."""

    error: ErrorBody


def status_of(fail: Fail) -> int:
    return STATUS_OF_CODE.get(fail.code, STATUS_OF_CATEGORY[fail.category])


def answer_of(fail: Fail) -> ErrorAnswer:
    return ErrorAnswer(
        ErrorBody(
            str(fail.details.get("aip_code", fail.code)),  # the normative codes of AIP-46, where it has one
            fail.category,
            _shown(fail.message),
            fail.retryable,
            None if fail.hint is None else _shown(fail.hint),
            None if fail.target is None else _shown(fail.target),
        )
    )


def unexpected(error: BaseException, where: str) -> Fail:
    """The failure for what should not happen. The log has the reason, under the number that the client gets."""
    number = os.urandom(4).hex()
    trace = redact_text("".join(traceback.format_exception(error)))
    log.error("%s failed (%s)\n%s", where, number, trace)
    message = f"the daemon failed ({type(error).__name__}); its log has the reason under {number}"
    return Fail("internal", "DAEMON_FAILED", message, target=number)


def encode_answer(answer: Any) -> bytes:
    return msgspec.json.encode(answer)


def _shown(text: str) -> str:
    shown = redact_text(text)
    return shown if len(shown) <= _TEXT_LIMIT else f"{shown[:_TEXT_LIMIT]} …"
