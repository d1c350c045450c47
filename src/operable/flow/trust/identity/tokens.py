"""Tokens of identities: OAuth 2.0 requests (RFC 6749), and bearer tokens that another program has put in place.

A refused request is described by its status and the server's error code when that is one of OAuth's words; descriptions
are left out, because servers repeat what they were sent.
"""

import re
import time
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.http_exchange import ExchangeFailed, HttpAnswer, exchange, form
from operable.flow.trust.identity.sessions import new_session, timestamp
from operable.flow.trust.identity.settings import auth

# The words of OAuth, Google and Stripe. Anything with digits or of both cases could be what was sent.
_ERROR_WORD = re.compile(r"(?:[a-z_]{3,40}|[A-Z_]{3,40})\Z")
CODE = "token_request_failed"


def ask(
    request: IdentityRequest,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    what: str = "Token request",
) -> Any:
    """A JSON answer of status 2xx; FlowError(token_request_failed) otherwise."""
    try:
        answer = exchange(method, url, headers=headers, body=body, around=request.surroundings)
        if not answer.ok:
            raise FlowError(CODE, f"{what} was refused: HTTP {answer.status}{_word(answer)}")
        return answer.json()
    except ExchangeFailed as failed:
        raise FlowError(CODE, f"{what} failed: {failed}") from None


def request_token(
    request: IdentityRequest,
    url: str,
    members: Mapping[str, str | None],
    *,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Post a form to a token endpoint; the answer has an access_token."""
    sent = {"content-type": "application/x-www-form-urlencoded", **(headers or {})}
    return with_token(ask(request, "POST", url, headers=sent, body=form(members)))


def with_token(answer: Any, name: str = "access_token") -> dict[str, Any]:
    if not isinstance(answer, dict) or not isinstance(answer.get(name), str) or not answer[name]:
        raise FlowError(CODE, f"Token answer has no {name}")
    return answer


def bearer(
    answer: Mapping[str, Any], *, audience: Any = None, scopes: Any = None, name: str = "access_token"
) -> dict[str, Any]:
    """The credential of an answer."""
    return {
        "kind": "bearer",
        "value": answer[name],
        "audience": audience,
        "scopes": scopes or [],
        "expires_at": expiry(answer),
    }


def expiry(answer: Mapping[str, Any]) -> str | None:
    """When a token ends: seconds from now (`expires_in`), a number or its digits."""
    given = answer.get("expires_in")
    try:
        seconds = (
            float(given) if isinstance(given, int | float | str) and not isinstance(given, bool) else None
        )
        return None if seconds is None else timestamp(time.time() + seconds)
    except (ValueError, OverflowError, OSError):
        return None


def _word(answer: HttpAnswer) -> str:
    try:
        found = answer.json()
    except ExchangeFailed:
        return ""
    word = found.get("error") if isinstance(found, Mapping) else None
    if isinstance(word, Mapping):  # Google and Stripe: {"error": {"status" | "type": …}}
        word = word.get("status") or word.get("type")
    return f" ({word})" if isinstance(word, str) and _ERROR_WORD.match(word) else ""


def service_token(*, refreshable: bool = False) -> dict[str, Any]:
    """What such an identity can do."""
    return {
        "auth_modes": ["service"],
        "credential_types": ["access_token"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none"],
        "refreshable": refreshable,
        "delegation": False,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    }


def given_token(request: IdentityRequest, token: str, assertions: Mapping[str, Any]) -> dict[str, Any]:
    """The session of a token that another program has put there: its end is not known."""
    scopes = auth(request.identity).get("scopes") or []
    credential = {"kind": "bearer", "value": token, "scopes": scopes, "expires_at": None}
    return new_session(request, credentials={"access_token": credential}, assertions=dict(assertions))
